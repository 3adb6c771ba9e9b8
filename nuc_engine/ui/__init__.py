"""The workbench in the browser: a web server of this machine alone, an ordinary client of the daemon.

access         who may speak to the page's server: one-time tokens, sessions, Host and Origin
answers        bodies of HTTP requests within bounds, and answers in JSON
bench          what faults and counts mean, over HTTP; jobs that look at a bus, a servo, this machine
bouts          data directories below one folder, over HTTP
bridge         one daemon, watched for all tabs: cycles, status, events
connections    bounds on who only holds connections open
cycles         every record of a daemon on this machine, over its deaths
diagrams       diagrams of what runs, and of a bout at a time, over HTTP
drawing        diagrams as trees of elements, drawn in a process of its own
episodes       a server of episodes over a WebSocket, in JSON
experimenting  what is read of experiments, in a process of its own
experiments    experiments over HTTP: what came of them, and running one in the background
jobs           what takes long, one at a time: child processes of `nuc`
launch         the server of one `nuc ui`: port, redirect file, browser, emulated daemon
outbox         what waits to be sent to one tab, within bounds
reading        what is read of data directories, in a process of its own
scene          what stands around an emulated leg
scripting      what is worked out of documents that are edited, in a process of its own
scripts        scripts and configurations that are edited, over HTTP
server         the web application: headers, static files, sessions, WebSockets
sshoff         torque off at a daemon elsewhere, over an ssh that stays open
stop           the red button's own way to the daemon, and whether it would be heard
stream         records of a daemon elsewhere, from its telemetry
tab            one tab of a browser: a client of the daemon by itself
tokenfile      a file that holds a token, for its owner alone
trials         bouts of an emulated leg from what is in force: dry runs, and those that are steered
unwatched      ends a bout that nobody watches, where that was asked for
virtual        bouts on the virtual clock that somebody steers: slower, cycle by cycle, standing still
"""

"""The workbench in the browser: a web server of this machine alone, an ordinary client of the daemon.

    access        who may speak to the page's server: one-time tokens, sessions, Host and Origin
    bridge        one daemon, watched for all tabs: cycles, status, events
    launch        the server of one `nuc ui`: port, redirect file, browser, emulated daemon
    outbox        what waits to be sent to one tab, within bounds
    server        the web application: headers, static files, sessions, WebSockets
    stop          the red button's own way to the daemon, and whether it would be heard
    tab           one tab of a browser: a client of the daemon by itself
"""

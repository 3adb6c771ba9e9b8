"""What clients and the daemon say to each other, and the keys they know each other by.

answers      what the daemon answers, typed
checked      a request as it was sent, held against what it may be
described    the table of methods in docs/channel.md, and all messages as a JSON Schema
episodes     requests of a server of episodes, and its answers
errors       what can go wrong between a client and the daemon
keys         CURVE keys of daemon and clients, and the list of those who may talk to the daemon
limits       what a value in a request may be
requests     every request of the command channel, one class each
snapshots    the newest state of an episode as a datagram
typescript   all messages as TypeScript types
"""

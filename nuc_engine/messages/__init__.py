"""What clients and the daemon say to each other, and the keys they know each other by.

calls      every request of the command channel as a value
errors     what can go wrong between a client and the daemon
keys       CURVE keys of daemon and clients, and the list of those who may talk to the daemon
results    what the daemon answers, typed
"""

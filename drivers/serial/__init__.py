"""Serial ports and the adapters behind them.

echo           half-duplex lines whose adapter receives what it sends
held           adapters that hold bytes back
holders        which processes hold a device open, as far as /proc tells
latency        how long an adapter holds bytes back, and asking it not to
lineoptions    options that the URLs of all families have, and the check of them
port           a serial port of this machine
"""

"""What servo protocols with framed packets share (Dynamixel, Feetech).

    packet.py      a packet, and what a dialect of the wire is
    registers.py   control tables as data
"""

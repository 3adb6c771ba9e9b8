"""What servo protocols with framed packets share (Dynamixel, Feetech).

    arming         what a servo is told before its torque goes on, and must still hold while it is on
    bench/         registers of single servos at the bench
    bus            the bus of servos with registers
    commissioning  setting up the servos of a bus, exchange by exchange, between the cycles' own
    cycle          what a bus of servos with registers says and does in a cycle, as scripts
    emulation/     emulated servos with registers, on a line of bytes
    family         a family of servos with registers
    forms          what a cycle costs on the wire, from the requests the bus makes
    group_read     asking several servos for the same registers
    layout         what a family of servos with registers tells the bus about itself, as data
    listener       a servo's parser of instructions
    packet         a packet of a framed servo protocol, and what a dialect of the wire offers
    readings       what is believed of the servos' readings
    registers      control tables as data
    requests       the requests a bus makes, as they go over the wire in a dialect
    search         all ids asked at once, where servos answer that one after the other, or one by one
    servo_state    what a bus knows of a servo, and what each event makes of it, as a table
    servos         what a bus keeps of each of its servos, beside their readings
    setup          what is asked of a servo before it is driven, one register after the other
    sniffer        what a host says on a line of servos with registers, from the bytes alone
    transactions           exchanges on a half-duplex line, one after the other, without waiting inside a call

A family adds its codec, its tables, a `Layout`, what its emulated servos do with their registers, and a `FramedFamily`
that an entry point names.
"""

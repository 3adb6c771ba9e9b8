"""The service: the process of the daemon that talks to people, programs and the disk.

    main         puts it together                      service      its loop: sockets, ring, timers
    channel      the command socket: frames, limits    access       addresses, keys and roles (CURVE, ZAP)
    clients      who is connected                      control      who of them may change something
    methods      the MessagePack methods, a table; `methods_*` are its parts, `params` checks what they are given
    sccils       the SCCILS dialogue, `sccils_documents` its documents
    errands      what waits for an answer, without a thread
    workshop     work that may take long, beside the loop
    core_link    commands to the core, what became of them
    mirror       named values of the last cycle        telemetry    recipes, their topics, datagrams
    edits        undo, redo, recording                 save         values in force as documents
    hazards      values the engine could not compute with
    configuration, folders   the documents in force, and where names lead
    logger, bouts, events, mcap   the data logger, a thread of its own
    answers, ration          what clients were answered, in HDSOlog.xml, and how much of it
    kernellog    dmesglog.txt: what the kernel said    elements     NAME[k], one element of an HDSO

It may die and come back at any moment: what must survive stands in the block, in the rings or in a file.
"""

"""The flight controller of 002 appendix A and what it flies: pure functions of plain tuples, no files.

    appendix     controller, attitude response and dynamics as printed; state, reference and control
    limits       saturations, rate limits and delay behind the controller; none of them is in the appendix
    references   reference programs: position, velocity and yaw at t
    tables       the tables of a flight's RunConfig, and flight as a system under control

    from nuc_engine.flight.appendix import Gains, control
    control(state=(0, 0, 0, 0, 0, 0, 0, 0, 0), reference=(1, 0, 2, 0, 0, 0, 0), gains=Gains((4,) * 3, (3,) * 3, 2, 1))

What the appendix leaves open is read as docs/readings_nuc.md says; N1 to N12 in comments are its readings.
"""

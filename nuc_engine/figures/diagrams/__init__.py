"""Diagrams of a control system, as SVG: what switches what, where rules hold, and which global states follow.

    drive      in which direction an action drives its joint
    events     which sensory events promote which actions
    flow       which sensors each module listens to, and its rules
    grid       where in sensor space the rules of a module hold, exactly, and where they overlap
    nerves     what stands below the sensory flow: signals, modules without a motor, controls
    nominal    which global states should follow which, by the rules alone
    recorded   the control system of a bout at any of its times
    regions    sensor space of a module's rules
    seen       which global states did follow which, in a bout
    sheet      one panel of a global state diagram
    states     diagrams of global states: nominal of a configuration, actual of a bout
    svg        SVG elements with plain numbers, so that the same diagram gives the same bytes
    wiring     what the diagrams are drawn from

Source: Rutter (2010), chapter 4 and section 9.5.1. Nothing here needs more than numpy.
"""

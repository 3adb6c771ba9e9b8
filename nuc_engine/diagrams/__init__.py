"""Diagrams of a control system, as SVG: what switches what, where rules hold, and which global states follow.

    wiring      `Wiring`: modules, actions and entry rules with the values in force at one moment
    drive       in which direction an action drives its joint
    grid        where in sensor space each rule of a module holds; overlaps and dead bands
    nominal     which global states should follow which, by the rules
    seen        which global states did follow which, in a bout
    flow        sensory flow diagram (figures 4-2, 4-23, 4-24)
    events      event space diagram (figures 4-4, 4-25, 7-13, 7-15, 7-17)
    regions     sensor space of a module's rules (figure 4-10)
    states      global state diagrams (figures 4-8, 7-12, 7-14, 7-16); `sheet` and `ring` draw
                and place their states
    svg         paper and pen: the same diagram gives the same bytes

Source: Rutter (2010), chapter 4 and section 9.5.1. Nothing here needs more than numpy.
"""

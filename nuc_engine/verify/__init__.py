"""An oracle: a bout's data directory held against the equations, by code that shares none with the engine.

    acting       modules that switch, signals about actions, and what follows controls
    blends       soft switching: degrees of truth, and weights of actions
    bout         a data directory, verified
    course       the tasks of a leg in their order, on virtual time by computation, in real time as recorded
    documents    a bout's documents, read into what the equations need
    episode      an episode of a RunConfig, verified
    files        the files of a data directory
    flight       a flight by its equations
    leg          a leg's controller by its equations
    logs         what a bout's logs must say, held against what they say
    overruns     overruns of state transition in real time
    real         a bout in real time
    record       the input record, read, and held against the forms its entries can have
    rules        rules: their text, the code a boolstring HDSO holds, and their truth
    scripts      a script as the changesets it means
    servos       what is known of servos, from their makers' data and docs/servos.md, and units
    shaft        one motor: what is sent to it, and what its replies mean
    signals      sensors that blocks compute
    start        what a daemon's bout started with, held against its documents
    store        HDSOs: what they hold, by their types, and what may be written to them
    surrogate    a flight whose controller was learned
    verdict      what a verification found
    virtual      a bout on virtual time
    weight       the weight of a leg

It imports nothing of nuc_engine, drivers or sccils_schemas, so that no mistake of theirs can be its own.
"""

from nuc_engine.verify.bout import verify_bout
from nuc_engine.verify.logs import Difference
from nuc_engine.verify.servos import Unverifiable
from nuc_engine.verify.verdict import Verdict

__all__ = ["Difference", "Unverifiable", "Verdict", "verify_bout"]

"""The experiments of chapter 7: bouts, criteria, controls and words, one module per group of rows.

    caught                a leg that is caught in the air, as in experiments Ga, Gb and Gc
    evidence              experiments beside rows that come out otherwise
    evidence_firm         experiments beside rows that are as seen by one set of seeds and not by both
    evidence_muscles      what decides the place of lift-off in ten minutes of walking
    evidence_unloading    experiments beside the rows of unloading
    explanations          why a row comes out otherwise on the emulated leg
    gains                 what unloading gained over all repetitions
    gradual               experiments G and E
    muscles               what muscle models of the tibia do for stepping
    other_runs            the configurations, plants and scripts of the runs on other seeds
    parts                 what the criteria of several experiments have in common
    pictures              pictures over all repetitions of a row, after Figures 7-10 and 7-11
    restricted            sideways stepping with the thorax-coxa joint fixed
    speed                 the six agonist activations alone shorten the step
    subsets               the changeset of the forward-type turn in two halves, one per joint
    transitions           experiments A, B and D
    unloading             the predictions of section 7.4.5.3, by taking the ground away and by a magnet at the foot

Criteria were written from the dissertation's words before any result was seen; a row that comes out otherwise gets an
explanation. These have been altered after results, and what they concern was judged anew:

    D1                no stepping means that the foot does not step either; with a tuning seed it had passed where the
                      foot took eight regular steps. Harder to pass than before.
    Gc, Ec            the end of every cycle is asked for (Gc), and more than irregularity (Ec). Harder.
    muscles-sideways  the null leg has to be at a halt, not merely irregular. Harder.
    dropout, magnet   more disturbances, and four of them have to count, else a repetition is not judged: with two,
                      chance let a control come out as seen. Judged on fresh seeds, from 40001 on.
    A to Gc           not the criteria, but three thresholds of the turns in their scripts. Judged on fresh seeds, from
                      30001 on.
"""

from nuc_engine.experiments.catalogue.explanations import explained
from nuc_engine.experiments.catalogue.gradual import (
    EXPERIMENT_EA,
    EXPERIMENT_EB,
    EXPERIMENT_EC,
    EXPERIMENT_GA,
    EXPERIMENT_GB,
    EXPERIMENT_GC,
)
from nuc_engine.experiments.catalogue.muscles import EXPERIMENT_FORWARD, EXPERIMENT_SIDEWAYS
from nuc_engine.experiments.catalogue.restricted import EXPERIMENT_DISCONNECT, EXPERIMENT_RESTRICTED
from nuc_engine.experiments.catalogue.speed import EXPERIMENT_SPEED
from nuc_engine.experiments.catalogue.subsets import EXPERIMENT_FA, EXPERIMENT_FB
from nuc_engine.experiments.catalogue.transitions import (
    EXPERIMENT_A,
    EXPERIMENT_B,
    EXPERIMENT_D1,
    EXPERIMENT_D2,
)
from nuc_engine.experiments.catalogue.unloading import EXPERIMENT_DROPOUT, EXPERIMENT_MAGNET
from nuc_engine.experiments.protocol import Experiment

__all__ = ["EXPERIMENTS"]

_ALL = (
    EXPERIMENT_A,
    EXPERIMENT_B,
    EXPERIMENT_D1,
    EXPERIMENT_D2,
    EXPERIMENT_FA,
    EXPERIMENT_FB,
    EXPERIMENT_GA,
    EXPERIMENT_GB,
    EXPERIMENT_GC,
    EXPERIMENT_EA,
    EXPERIMENT_EB,
    EXPERIMENT_EC,
    EXPERIMENT_SPEED,
    EXPERIMENT_RESTRICTED,
    EXPERIMENT_DISCONNECT,
    EXPERIMENT_SIDEWAYS,
    EXPERIMENT_FORWARD,
    EXPERIMENT_DROPOUT,
    EXPERIMENT_MAGNET,
)

EXPERIMENTS: tuple[Experiment, ...] = tuple(explained(experiment) for experiment in _ALL)

"""Why a row comes out otherwise on the emulated leg: evidence, found with tuning seeds after the criteria were fixed.

By experiment and row. A text stands on the page only while the row is not as the dissertation saw it, and with it what
came of the experiments in `evidence`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nuc_engine.experiments.catalogue.evidence import PROBES
from nuc_engine.experiments.protocol import Again, Experiment

_D1 = """\
The interim is not rest. In every repetition the foot goes on hopping, more than once a second (table below), while ThC1
changes its action again and again: with the first changeset alone it lifts and lowers the leg by the same angle of the
tibia (120 degrees, HDSO 105), so that beyond it both rules hold and it switches at every evaluation. Hops count as
steps of the foot only when they have a beat, with a coefficient of variation of their intervals of at most 0.25. It is
about 0.4 here, so that in 5.5 s a beat now and then comes about by chance, and each repetition has three such parts.
What gives hops a beat is the femur. It swings up to about 155 degrees and on its way passes the angle at which it has
ThC1 lift the leg (HDSO 104, 140 degrees). The experiment below moves this angle, with seeds of its own. At 110 degrees
hops have a beat, and 2 of 12 interims are without steps; at 155 and 170, which the femur hardly ever reaches, they
have none, and 11 of 12 are. At 140, as in the row, 6 of 12 are, with the two runs above 39 of 52. So the row rests on
how irregular the hops are, and not on a leg at rest. The scripts keep 140 degrees, which was chosen with tuning seeds;
with 155 or 170 experiment A ends in ITB just as well (last column)."""

_LOAD = """\
The prediction is drawn from the diagrams, in which *unloaded* is an event of its own. This leg does not sense it
while it presses down. Its load signal is the current of the ThC1 motor with the sign of the commanded servo delta
(6.3.2), and that sign turns only when ThC1 itself goes over to lifting, by its angle rules. The table bears it out: in
FWD and ITF no predicted action came before ThC1 had let go, in any repetition (share 0). What unloading brings forward,
it brings forward by the mechanics: the unloaded femur reaches its angle sooner. The experiment below, in which the
ground drops out, raises the thresholds of the load from 0, where only the sign counts, to 1 tick, where its size does.
Then unloading brings the predicted actions of FWD and ITF forward by more than 0.05 s in the median, as predicted, in
FWD half of them while ThC1 still presses; those of ITB it does not. The dissertation describes the same of the robot:
this current tells more of the moment ThC1 changes its action than of the load (7.4.5.2)."""

_TEXTS: Mapping[tuple[str, str], str] = {
    ("D1", "literal"): _D1,
    ("D1", "commuting"): _D1,
    ("Fb", "Fb"): """\
No part of the interim is stepping (the number stands in the table), but the criterion also asks for no other cycle.
The foot stays down, fully loaded, with the femur at 11 degrees; both rules of ThC1 hold there, so that it switches
at every evaluation, and the tibia, still under the rules of forward stepping, runs to and fro between 60 and 90
degrees, 0.46 s each. Where the tibia turns back is a matter of HDSO 103. At 84 degrees and below there is no cycle,
as on the robot. But the turn is lost with it: ITF came in the end reliably with 108 degrees only, which is why the
scripts have that.""",
    ("Gb", "Gb"): """\
It is a matter of the moment of the step in which the rules happen to change. Until then the leg walks, whatever the
thresholds. When the rules change between 0.1 and 0.4 s after a lift-off, from the middle of swing to the beginning of
stance, about every other leg lifts its foot once or twice more and is then caught in the air for some ten seconds: no
load, the femur levated to 174 degrees, ThC1 lowering the leg, which does not bring the foot down to the ground then,
and the tibia going to and fro between its own two thresholds (HDSO 107 and 109) around 75 degrees, where ThC1
has no reason to lift. Then the turn begins as it should. It is one such pause, which begins soon after 15 s and mostly
reaches beyond 25 s, so that both parts of the criterion see it. The experiment below changes the rules at four times,
0.2 s apart, with seeds of its own. Of 50 repetitions in which this is at another moment of the step all are as seen, of
46 in which it is between 0.1 and 0.4 s after a lift-off 24. Where in a step a leg is at 15 s, its start decides, so it
is a matter of the seed. That the tibia's thresholds (107 and 109) are still half way is not the reason: with both
written at 15 s, 15 of 24 were as seen, as they are 17 of 24 (tuning seeds).""",
    ("Gc", "Gc"): """\
Forward stepping survives the thresholds of the turn. In it the tibia moves between 67 and 142 degrees and the leg
is lifted by the femur's angle; HDSO 103 and 105 go from 60 and 120 to 108 and 115 degrees, which is within this
range, so walking goes on with shorter steps. The experiment below moves 105 out of the tibia's range, where the leg is
never lowered again. Then walking dies out, the earlier the further it moves, at 164 degrees half way through the
change, as on the robot. But the femur alone has to end stance in the turns then: ITF is reached less often, and
experiment D in its literal order does not end in ITB any more.""",
    ("Ea", "Ea"): """\
When the rules change before the activations, the load at once makes the femur levate, and it throws the foot up: the
leg makes the movements of walking backward or of ITB, but with the foot in the air for most of the time. What
holds the levating femur back, the tone of its antagonist (HDSO 125), is still that of forward stepping, 0.01. The
experiment below changes this tone alone when the rules change. From 0.2 on the foot stays on the ground, and the leg
drags it through the robot's backward cycle, and ends in ITB, in every repetition. The robot's femur met such a
resistance, it seems; on this plant it can not be put into forward stepping, which breaks down with 0.15 (two bouts of
two, tuning seeds).""",
    ("Eb", "Eb"): """\
Until the rules change the leg goes on turning, but with steps of unequal length (coefficient of variation 0.3 to
0.4 in many windows, allowed 0.25). That is a matter of the activations it is on the way to, which the dissertation
does not print, and three rows hang on them. The experiment below takes them over to another set, with which Eb and
Ec come out as seen. But with this set D1, where it comes before the forward-type changeset, makes steps more often.
26 sets were tried in all (tuning seeds, HDSO 104 between 125 and 165 degrees): one other made Eb regular and left D1
at rest, but lost Ec; none had all three. The scripts keep the set with which D1 comes out. The few backward steps after
the change of rules are there as on the robot (table).""",
    ("Ec", "Ec"): """\
The turn falls apart during the last part of the change: pauses of two to three and a half seconds come before the
rules change, where the robot's leg went on with sweeping arcs. How far it falls apart is a matter of the activations
that are changed, which the dissertation does not print. The experiment below takes them over to another set, with which
the cycle goes on to the end in every repetition and is nearly useless, as on the robot, and Eb comes out as seen too;
but D1 makes steps with it more often. No set with all three was found among 26 (tuning seeds).""",
    ("muscles-sideways", "muscles-sideways"): """\
At 16 cm the null leg finds the ground in time, whatever the thresholds: with 36 combinations of HDSO 103, 105 and
108, two bouts each with tuning seeds, it never stopped. What stopped the robot, a tibia that overextends before the
very small rise of the load at touch-down is noticed (7.2.1), is there on this leg too, but further up, where the
foot has a longer way down. With all thresholds as printed (experiment below) the tibia turns back at 48 degrees at
16 cm; at 24 cm it extends to half of that in some repetitions, and the leg stands stretched out, as in Figure 7-8,
while the piecewise constant one steps. At which height this begins is a matter of the leg's geometry; 16 cm is
printed, so the criterion asks for it there.""",
    ("muscles-forward", "ten minutes"): """\
Both models walk for ten minutes, and over all repetitions the linear one narrows the step durations as on the robot
(ratio and interval in the table). It does not narrow the differences of successive minima. With either model they
are less than two ticks of the servo's meter wide, two thirds of which the ticks and the 25 ms between evaluations of
the rules alone would make. There is little to narrow. The experiment below gives the legs more: as the noise of the
meter grows, both spreads do, and the ratio falls from above 1 to below it; at the noise of this plant it is 1.0.""",
} | {(name, row): _LOAD for name in ("dropout", "magnet") for row in ("FWD", "ITF", "ITB")}


AGAIN_SEED = 50001
"""First seed of the second run of all rows, on which nothing was tuned or judged before."""

_AS_SEEN_AGAIN: Mapping[tuple[str, str], int] = {
    ("A", "A"): 18,
    ("B", "B"): 20,
    ("D1", "literal"): 15,
    ("D1", "commuting"): 15,
    ("D2", "literal"): 20,
    ("D2", "commuting"): 20,
    ("Fa", "Fa"): 20,
    ("Fb", "Fb"): 1,
    ("Ga", "Ga"): 20,
    ("Gb", "Gb"): 13,
    ("Gc", "Gc"): 0,
    ("Ea", "Ea"): 0,
    ("Eb", "Eb"): 6,
    ("Ec", "Ec"): 14,
    ("speed", "speed"): 20,
    ("restricted", "raised"): 18,
    ("restricted", "heights"): 18,
    ("restricted", "starts"): 18,
    ("disconnect", "disconnect"): 20,
    ("muscles-sideways", "muscles-sideways"): 0,
    ("muscles-forward", "null"): 20,
    ("muscles-forward", "ten minutes"): 1,
    ("dropout", "FWD"): 0,
    ("dropout", "ITF"): 4,
    ("dropout", "ITB"): 0,
    ("magnet", "FWD"): 0,
    ("magnet", "ITF"): 0,
    ("magnet", "ITB"): 0,
}
"""Of 20 valid repetitions of each row; docs/replication.md has both runs side by side."""

AGAIN: Mapping[tuple[str, str], Again] = {key: Again(count, 20, AGAIN_SEED) for key, count in _AS_SEEN_AGAIN.items()}


def explained(experiment: Experiment) -> Experiment:
    """Return the experiment with the explanations of its rows, and the experiments that bear them out."""
    rows = (
        replace(row, explanation=_TEXTS.get(key, ""), probes=PROBES.get(key, ()), again=AGAIN.get(key))
        for row in experiment.rows
        for key in [(experiment.name, row.name)]
    )
    return replace(experiment, rows=tuple(rows))


def unused(experiments: tuple[Experiment, ...]) -> set[tuple[str, str]]:
    """Return explanations and second runs of rows that are not there."""
    return {*_TEXTS, *PROBES, *AGAIN} - {
        (experiment.name, row.name) for experiment in experiments for row in experiment.rows
    }

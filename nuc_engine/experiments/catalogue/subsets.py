"""Experiments F: the changeset of the forward-type turn in two halves, one per joint (7.4.2.4)."""

from __future__ import annotations

from nuc_engine.experiments.catalogue.parts import (
    BOUT,
    cycling,
    forward_window,
    judged,
    not_started,
    one_bout,
    period_s,
    stepping,
    unlike,
    windows_of,
)
from nuc_engine.experiments.catalogue.transitions import FINAL_KICKS_S, INTERIM, KICKED_FINAL
from nuc_engine.experiments.protocol import Control, Experiment, Finding, Observations, Row


def criterion_f(seen: Observations) -> Finding:
    """FWD, then no cycle in any part of the interim, and ITF in the end."""
    one = seen[BOUT]
    parts = windows_of(one.plan, "interim")
    interim = tuple(reason for name in parts for reason in cycling(one, name))
    numbers = {
        "parts of the interim with stepping": float(sum(bool(stepping(one, name)) for name in parts)),
        "parts of the interim with a cycle": float(len(interim)),
        "final step period (s)": period_s(one, "final"),
    }
    return judged(not_started([one], "FWD"), interim, numbers, unlike(one, "final", "ITF"))


_TEXT = (
    "From 6 to 20 s the leg steps as in FWD (kicked once at 4 s if it must; else a failed start). In none of the"
    " three parts of the interim is there a repeating cycle, neither stepping of any kind, nor a dragging cycle, nor"
    " stepping in the air: 21.5 to 27 s, 28 to 33.5 s after the first kick, and 34.5 to 40 s after the second one."
    " From 51 to 60 s the leg steps as in ITF, if need be after a kick at 44 s or two, at 44 and 48 s."
)

_CONTROL = Control(
    why="The whole changeset at 20 s, with the same two kicks: the interim is already the turn that the halves are"
    " to be kept from, and the end is the same, so only an eye for the interim can tell.",
    bouts=one_bout("itf_kicked", 60.0, forward_window(20.0), *INTERIM, KICKED_FINAL, kicks_s=FINAL_KICKS_S),
)


def _experiment(name: str, script: str, first: str, second: str, kicks_there: str) -> Experiment:
    return Experiment(
        name=name,
        section="7.4.4.4",
        seed=30001,
        title=f"The change in two halves, {first} first",
        hypothesis="""\
A change of behaviour may consist of parts that make no sense alone, whichever comes first. In the animal such
parts would have to be changed together, or nearly so: a descending signal that reached one joint long before the
other would stop the leg.""",
        method=f"""\
The changeset that leads from forward stepping (FWD) to the forward-type inside turn (ITF) is divided by the joint
it acts on: the entry rules of the tibia (FTi) and of ThC1, each with their angle thresholds. The half of
{first} is applied after 20 s of forward stepping, the half of {second} 20 s later. In the interim the leg is
kicked twice, at 27 and 33.5 s; after the second half it is kicked when it does not start by itself.""",
        rows=(
            Row(
                name=name,
                saw="no cyclic behaviour in the interim despite kicks; ITF in the end (three repetitions of three)",
                bouts=one_bout(script, 60.0, forward_window(20.0), *INTERIM, KICKED_FINAL, kicks_s=FINAL_KICKS_S),
                criterion_text=_TEXT,
                criterion=criterion_f,
                control=_CONTROL,
                kicks_there=kicks_there,
            ),
        ),
    )


EXPERIMENT_FA = _experiment("Fa", "experiment_fa", "FTi", "ThC1", "in the end one in one repetition of three")
EXPERIMENT_FB = _experiment("Fb", "experiment_fb", "ThC1", "FTi", "in the end one in each of three repetitions")

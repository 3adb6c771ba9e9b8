"""Experiments A, B and D: changesets one after the other, both at once, and in reverse order (7.4.2.1 to 7.4.2.3)."""

from __future__ import annotations

from nuc_engine.experiments.catalogue.parts import (
    BOUT,
    forward_window,
    judged,
    not_started,
    one_bout,
    period_s,
    stepping,
    unlike,
    windows_of,
)
from nuc_engine.experiments.protocol import Control, Experiment, Finding, Observations, Row, Window

FIRST_KICK_S, SECOND_KICK_S = 27.0, 33.5
"""The kicks of an interim from 20 to 40 s, as in the scripts of experiments D and F."""

INTERIM = (
    Window("interim", 20.0, FIRST_KICK_S, "interim", 1.5),
    Window("after kick 1", FIRST_KICK_S, SECOND_KICK_S, "interim", 1.0),
    Window("after kick 2", SECOND_KICK_S, 40.0, "interim", 1.0),
)
"""5.5 s of each are judged: eight forward steps of this leg, far more than the classifier needs to see a cycle."""

FINAL_KICKS_S = (44.0, 48.0)
KICKED_FINAL = Window("final", 40.0, 60.0, "final", 11.0)
"""Judged from 51 to 60 s in any case, kicked or not."""


def criterion_a(seen: Observations) -> Finding:
    """FWD, ITF and ITB, one after the other."""
    one = seen[BOUT]
    numbers = {f"{kind} step period (s)": period_s(one, kind) for kind in ("FWD", "ITF", "ITB")}
    return judged(not_started([one], "FWD"), unlike(one, "ITF", "ITF") + unlike(one, "ITB", "ITB"), numbers)


def criterion_b(seen: Observations) -> Finding:
    """FWD, then ITB."""
    one = seen[BOUT]
    numbers = {f"{kind} step period (s)": period_s(one, kind) for kind in ("FWD", "ITB")}
    return judged(not_started([one], "FWD"), unlike(one, "ITB", "ITB"), numbers)


def criterion_d1(seen: Observations) -> Finding:
    """FWD, then no stepping in any part of the interim."""
    one = seen[BOUT]
    parts = windows_of(one.plan, "interim")
    against = tuple(reason for name in parts for reason in stepping(one, name))
    return judged(not_started([one], "FWD"), against, {"parts of the interim with stepping": float(len(against))})


def criterion_d2(seen: Observations) -> Finding:
    """FWD, and ITB in the end."""
    one = seen[BOUT]
    numbers = {"final step period (s)": period_s(one, "final")}
    return judged(not_started([one], "FWD"), (), numbers, unlike(one, "final", "ITB"))


EXPERIMENT_A = Experiment(
    name="A",
    section="7.4.4.1",
    seed=30001,
    title="From walking to turning, one change after the other",
    hypothesis="""\
A cockroach leg that walks forward can be taken over into an inside turn while it goes on stepping, merely by
changing how sensors influence the switching of actions. Forward walking and the two inside turns are then settings
of one and the same controller. Nothing plans the transition; it has to come out of the leg, the ground and the new
rules.""",
    method="""\
The leg starts in forward stepping (FWD). After 20 s all values that differ in the forward-type inside turn (ITF)
are changed at once, after 40 s those that differ in the backward-type inside turn (ITB). In ITF the tibia flexes
during stance instead of extending; in ITB the femur levates in stance as well. Each behaviour gets 20 s, the first
3 s of which are left to the leg to settle. The leg is never kicked.""",
    rows=(
        Row(
            name="A",
            saw="FWD, then ITF, then ITB, each stable after a transient (three repetitions of three)",
            bouts=one_bout(
                "experiment_a",
                60.0,
                forward_window(20.0, 3.0),
                Window("ITF", 20.0, 40.0, "final"),
                Window("ITB", 40.0, 60.0, "final"),
                start_kick_s=None,
            ),
            criterion_text="From 3 to 20 s the leg steps as in FWD, from 23 to 40 s as in ITF, from 43 to 60 s as in"
            " ITB, without a kick. Without FWD it is a failed start.",
            criterion=criterion_a,
            control=Control(
                why="The same minute without the changesets: the leg walks forward all the time, which is stepping, but"
                " neither turn.",
                bouts=one_bout(
                    None,
                    60.0,
                    forward_window(20.0, 3.0),
                    Window("ITF", 20.0, 40.0, "final"),
                    Window("ITB", 40.0, 60.0, "final"),
                    start_kick_s=None,
                ),
            ),
        ),
    ),
)

EXPERIMENT_B = Experiment(
    name="B",
    section="7.4.4.2",
    seed=30001,
    title="Both changes at once",
    hypothesis="""\
If the two changesets of experiment A each lead to the next behaviour, then applied together they should lead
straight to the last one. What a changeset does would then not depend on the leg having been in the behaviour
between.""",
    method="""\
The leg starts in forward stepping (FWD). After 20 s the changesets of ITF and ITB are applied at the same instant,
and the leg has 20 s to reach the backward-type inside turn (ITB). Where both name the same value, the one of ITB
stands. The leg is not kicked after the change.""",
    rows=(
        Row(
            name="B",
            saw="FWD, then ITB (three repetitions of three)",
            bouts=one_bout("experiment_b", 40.0, forward_window(20.0), Window("ITB", 20.0, 40.0, "final")),
            criterion_text="From 6 to 20 s the leg steps as in FWD, from 23 to 40 s as in ITB. A leg that does not"
            " begin to walk is kicked once at 4 s; without FWD then it is a failed start.",
            criterion=criterion_b,
            control=Control(
                why="Experiment A up to 40 s: only the first changeset is applied, so the leg turns in the forward"
                " type, which is stepping, but not ITB.",
                bouts=one_bout("experiment_a", 40.0, forward_window(20.0), Window("ITB", 20.0, 40.0, "final")),
            ),
        ),
    ),
)

_D_METHOD = """\
The leg starts in forward stepping (FWD). After 20 s it gets the changeset of the backward-type turn, which belongs
on top of the forward type, and after 40 s that of the forward type. In the interim it is kicked twice, at 27 and
33.5 s: a leg that stands still only for want of a push would step on. A kick pushes the tibia with a force whose
size, direction and duration come from the seed. The two changesets share an entry rule (162) and its threshold
(104). In the row *literal* they are those of experiment A, word for word, so that the values of the one that comes
second stand. In the row *commuting* the second one leaves these two out, and in the end all values are those of
ITB. Up to 40 s both rows are the same bout."""

_D_SCRIPTS = {"literal": "experiment_d", "commuting": "experiment_d_commuting"}


def _d1(row: str) -> Row:
    return Row(
        name=row,
        saw="no stepping in the interim, kicks notwithstanding (three repetitions of three)",
        bouts=one_bout(_D_SCRIPTS[row], 40.0, forward_window(20.0), *INTERIM),
        criterion_text="From 6 to 20 s the leg steps as in FWD (kicked once at 4 s if it must; else a failed start)."
        " In none of the three parts of the interim is there stepping of any kind, not even of a foot with"
        " which the actions do not go: 21.5 to 27 s, 28 to 33.5 s after the first kick, and 34.5 to 40 s"
        " after the second one.",
        criterion=criterion_d1,
        control=Control(
            why="The changeset of ITF first, as it should be, with the same two kicks: the interim is a forward-type"
            " turn, and a criterion that can see stepping has to see it, kicks notwithstanding.",
            bouts=one_bout("itf_kicked", 40.0, forward_window(20.0), *INTERIM),
        ),
        kicks_there="in the interim, where none started stepping (arrows in Figure 7-27)",
    )


_LITTLE_EFFECT = """\
What differs between both rows is the part that CTr has in lifting the leg: beyond which angle of the femur, and whether
above or below it, ThC1 lifts (rule 162 and HDSO 104). By rule 162 ThC1 also lifts when the tibia is flexed beyond an
angle, and this is the same in both. Where a bout is the same in both rows, the tibia alone decides: the femur's
influence, and with it the order of the two changesets, makes no difference at all. The dissertation says of this
influence, too, that it has little effect, and that little changes when it is left out (7.4.1.3)."""


def _d2(row: str) -> Row:
    return Row(
        name=row,
        saw="ITB in the end (three repetitions of three)",
        bouts=one_bout(_D_SCRIPTS[row], 60.0, forward_window(20.0), *INTERIM, KICKED_FINAL, kicks_s=FINAL_KICKS_S),
        criterion_text="From 6 to 20 s the leg steps as in FWD (kicked once at 4 s if it must; else a failed start)."
        " From 51 to 60 s it steps as in ITB, if need be after a kick at 44 s or two, at 44 and 48 s.",
        criterion=criterion_d2,
        control=Control(
            why="The same bouts at the end of the interim (34.5 to 40 s), before the second changeset: what makes"
            " the turn whole is still missing.",
            bouts=one_bout(_D_SCRIPTS[row], 40.0, forward_window(20.0), Window("final", 20.0, 40.0, "final", 14.5)),
        ),
        kicks_there="only in the interim; none is reported after the second changeset",
        remark=_LITTLE_EFFECT if row == "commuting" else "",
    )


EXPERIMENT_D1 = Experiment(
    name="D1",
    section="7.4.4.3",
    seed=30001,
    title="Changes in the wrong order: what happens in between",
    hypothesis="""\
A changeset that leads from one behaviour to the next may lead nowhere when it is applied to another behaviour. A
change of sensory influences would then only make sense together with those that came before it.""",
    method=_D_METHOD + " This page is about the interim.",
    rows=(_d1("literal"), _d1("commuting")),
)

EXPERIMENT_D2 = Experiment(
    name="D2",
    section="7.4.4.3",
    seed=30001,
    title="Changes in the wrong order: where they end",
    hypothesis="""\
Even if the interim does not function, the order in which changes are made should not matter for the behaviour they
end in, once all of them have been made. The behaviour would then be a matter of the present setting, not of how it
was reached.""",
    method=_D_METHOD
    + " This page is about the end. Here the leg may be kicked again when it does not start by itself.",
    rows=(_d2("literal"), _d2("commuting")),
)

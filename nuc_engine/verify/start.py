"""What a daemon's bout started with, held against its documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nuc_engine.verify.documents import Model
from nuc_engine.verify.logs import Report
from nuc_engine.verify.record import RECORD
from nuc_engine.verify.store import Store, Values


def compare_start(model: Model, found: Store, manifest: Mapping[str, Any], report: Report) -> list[str]:
    """Hold the store at the start against the documents; return what is given instead.

    Before the first bout the motors' sensors and what is made of them alone have changed, and where clients wrote,
    what they may write. A bout
    before also leaves commands, and when it ended.
    """
    computed = Store(model.hdsos)
    for number, values in model.initial:
        computed.write(number, values)
    if "engine_start_time" in model.ids:
        computed.write(model.ids["engine_start_time"], [0])
    later = manifest.get("bout") != 1
    left = {number for motor in model.motors for number in (motor.position_command, motor.force_command)}
    left.add(model.ids.get("engine_stop_time"))
    measured = {number for motor in model.motors for number in (motor.angle, motor.current)}
    measured |= {signal.number for signal in (*model.signals, *model.of_actions)}
    given: list[str] = []
    for number, hdso in model.hdsos.items():
        a, b = computed.values(number), found.values(number)
        if number in measured or a == b:
            continue
        # What is not written stays, also behind the values of a shorter write.
        by_bout = later and number in left
        by_client = manifest.get("written_before", 1) != 0 and b and not hdso.refusal(b)
        if by_bout or (by_client and hdso.name != "engine_start_time"):
            given.append(
                f"{hdso.name} starts with {_said(b)} where the documents have {_said(a)}: written before, given"
            )
        else:
            report.differ(RECORD, 2, 0, hdso.name, _said(a), _said(b))
    return given


def _said(values: Values) -> str:
    return " ".join(map(str, values)) or "no value"

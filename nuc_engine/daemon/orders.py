"""What the core does when the service tells it to: one function per command, and an acknowledgement for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from drivers.errors import PortError
from drivers.servo import ReplyStatus
from nuc_engine.control.controls import SENSE
from nuc_engine.control.controls import refusal as control_refusal
from nuc_engine.control.triggers import MOST_ARMED
from nuc_engine.daemon.modes import Input, Mode, Refusal
from nuc_engine.daemon.state import Deferred, EngineState, RetryLater
from nuc_engine.daemon.wire import MOST_AT_ONCE, MOST_WAITING, CoreCommand, unpack
from nuc_engine.model.changes import Changeset, JointControl, Trigger, Write
from nuc_engine.model.store import refusal
from sccils_schemas.rules import RuleError

RETRY_NS = 500_000_000
"""For how long an order that a missed reply blocks is retried: a bad line may lose one reply in a hundred."""

_LATEST_NS = 10**17
_IN_A_BOUT_ONLY = ("muscle", "force")
_Rows = Sequence[Sequence[Any]]
"""Lists as MessagePack has them: what is in them is looked at here."""


def retry_deferred(core: EngineState) -> None:
    """Obey what could not be obeyed before."""
    for order in core.take_deferred():
        execute(core, order.kind, order.content, order.until_ns)


def execute(core: EngineState, kind: int, content: bytes, until_ns: int | None = None) -> None:
    """Carry out one command and acknowledge it. Nothing a command says can raise; PortError when a port is gone.

    What a missed reply forbids is deferred, for RETRY_NS or until `until_ns`.
    """
    request = 0
    try:
        items = unpack(content)
        request = _whole(items[0], "request", 0)
        detail = _ORDERS[CoreCommand(kind)](core, *(items if kind == CoreCommand.CHANGESET else items[1:]))
    except RetryLater as refused:
        now = core.clock.now_ns
        until_ns = until_ns or now + RETRY_NS
        if now < until_ns:
            core.defer(Deferred(kind, content, until_ns))
        else:
            core.recorder.acknowledge(request, False, now, str(refused))
    except (Refusal, RuleError) as refused:
        core.recorder.acknowledge(request, False, core.clock.now_ns, str(refused))
    except PortError as error:
        core.recorder.acknowledge(request, False, core.clock.now_ns, str(error))
        raise
    except Exception as error:  # a malformed command must not end the engine
        core.recorder.acknowledge(request, False, core.clock.now_ns, f"{type(error).__name__}: {error}")
    else:
        at_once = kind == CoreCommand.CHANGESET and items[1] == -1
        core.recorder.acknowledge(request, True, core.clock.now_ns, detail, more=at_once)


def _changeset(
    core: EngineState, request: int, time: object, writes: _Rows, controls: _Rows = (), triggers: _Rows = ()
) -> str:
    changeset = Changeset(
        time_ns=_whole(time, "time", -1),
        writes=tuple(
            Write(_whole(hdso, "HDSO", 0), _numbers(values), *(_whole(k, "element", 0) for k in element))
            for hdso, values, *element in writes
        ),
        controls=tuple(JointControl(str(what), _whole(joint, "joint", 0), value) for what, joint, value in controls),
        origin=request,
        triggers=tuple(_trigger(*row) for row in triggers),
    )
    size = len(changeset.writes) + len(changeset.controls)
    size += sum(1 + len(trigger.writes) for trigger in changeset.triggers)
    if len(core.live.triggers.armed) + len(changeset.triggers) > MOST_ARMED:
        raise Refusal(f"{len(core.live.triggers.armed)} triggers wait already; at most {MOST_ARMED}")
    if size > MOST_AT_ONCE:
        raise Refusal(f"{size} changes at once; at most {MOST_AT_ONCE}: send them in parts")
    if core.pending >= MOST_WAITING:
        raise Refusal(f"{core.pending} changesets wait already; at most {MOST_WAITING}")
    timed = changeset.time_ns >= 0
    silent = [] if timed else [text for control in changeset.controls if (text := _silent(core, control))]
    reasons = [reason for write in changeset.writes if (reason := _unfit(core, write))]
    for trigger in changeset.triggers:
        reasons += [reason for write in trigger.writes if (reason := _unfit(core, write))]
        try:
            core.live.rulebook.read(trigger.rule)
        except RuleError as error:
            reasons.append(str(error))
    reasons += [reason for control in changeset.controls if (reason := _unmade(core, control, timed=timed))]
    if reasons:
        raise Refusal("; ".join(reasons))
    if silent:
        raise RetryLater("; ".join(silent))
    core.load(changeset)
    return ""


def _trigger(
    rule: object, holds: object, after: object, until: object, times: object, refractory: object, writes: _Rows
) -> Trigger:
    return Trigger(
        rule=str(rule),
        writes=tuple(Write(_whole(hdso, "HDSO", 0), _numbers(values)) for hdso, values in writes),
        holds_ns=_whole(holds, "holds", 0),
        after_ns=_whole(after, "after", 0),
        until_ns=_whole(until, "until", -1),
        times=_whole(times, "times", 0),
        refractory_ns=_whole(refractory, "refractory", 0),
    )


def _unfit(core: EngineState, write: Write) -> str:
    plan = core.plan
    if not 0 <= write.hdso < len(plan.hdsos):
        return f"HDSO number {write.hdso} does not exist"
    hdso = plan.hdsos[write.hdso]
    named = f"HDSO {hdso.id_num} ({hdso.name})"
    reason = refusal(hdso, write.values, write.element)
    if not reason and hdso.kind == "boolstring":
        try:
            core.live.rulebook.decode(hdso.index, [int(value) for value in write.values])
        except RuleError as error:
            reason = str(error)
    return f"{named}: {reason}" if reason else ""


def _unmade(core: EngineState, control: JointControl, *, timed: bool) -> str:
    reason = control_refusal(control, core.plan)
    if reason:
        return reason
    # What is timed waits for a bout.
    if core.mode is Mode.RUNNING or timed or control == JointControl("mode", control.joint, "limp"):
        return ""
    if control.what == SENSE:
        return f"{core.plan.hdsos[control.joint].name}: what is sensed is changed in a bout only"
    core.allow(Input.POSE)
    joint = core.plan.joints[control.joint]
    if control.what == "tweak" or (control.what == "mode" and control.value in _IN_A_BOUT_ONLY):
        return f"{joint.name}: {control.value if control.what == 'mode' else 'a tweak'} drives a joint in a bout only"
    return ""


def _silent(core: EngineState, control: JointControl) -> str:
    if control.what == SENSE or control_refusal(control, core.plan) or core.mode is Mode.RUNNING:
        return ""
    if control.value == "limp":
        return ""
    joint = core.plan.joints[control.joint]
    if core.bus.status[joint.motor] == ReplyStatus.OK:
        return ""
    return f"{joint.name}: its servo does not answer: check power, cable and id"


def _run(core: EngineState, delay: object, stop: object, bout: object) -> int:
    core.plan_run(_whole(delay, "delay", 0), _whole(stop, "stop time", -1), _whole(bout, "bout", 1))
    return core.run_at_ns


def _stop(core: EngineState, policy: object) -> str:
    if not isinstance(policy, str) or policy not in ("", "off", "hold", "park"):
        raise Refusal(f"stop policy {policy!r}; expected off, hold or park")
    core.stop(policy, "stopped by the operator")
    return ""


def _arm(core: EngineState) -> str:
    core.arm()
    return ""


def _off(core: EngineState, why: object) -> str:
    core.off(str(why))
    return ""


def _dump(core: EngineState) -> str:
    core.dump()
    return ""


def _forget(core: EngineState, origin: object) -> int:
    return core.forget(_whole(origin, "request", -1))


def _park(core: EngineState, angles: Mapping[object, Any], rate: Any) -> str:
    pose = {_whole(joint, "joint", 0): float(angle) for joint, angle in angles.items()}
    controls = [JointControl("target", joint, angle) for joint, angle in pose.items()]
    controls += [JointControl("rate", joint, float(rate)) for joint in pose]
    if reasons := [reason for control in controls if (reason := control_refusal(control, core.plan))]:
        raise Refusal("; ".join(reasons))
    core.park_in(pose, float(rate))
    return ""


def _limits(core: EngineState, limits: Sequence[object]) -> str:
    ticks = [_whole(limit, "limit", -1) for limit in limits]
    if len(ticks) != len(core.plan.motors):
        raise Refusal(f"{len(ticks)} limits for {len(core.plan.motors)} motors")
    core.set_limits([None if limit < 0 else limit for limit in ticks])
    return ""


def _numbers(values: Sequence[Any]) -> tuple[int | float, ...]:
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        raise Refusal(f"values {str(values)[:60]}; expected numbers")
    return tuple(values)


def _whole(value: object, what: str, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _LATEST_NS:
        if isinstance(value, float) and not math.isfinite(value):
            raise Refusal(f"{what} is not finite")
        raise Refusal(f"{what} {value!r}; expected a whole number from {least}")
    return value


_ORDERS: Mapping[CoreCommand, Callable[..., str | int]] = MappingProxyType(
    {
        CoreCommand.CHANGESET: _changeset,
        CoreCommand.RUN: _run,
        CoreCommand.STOP: _stop,
        CoreCommand.ARM: _arm,
        CoreCommand.OFF: _off,
        CoreCommand.DUMP: _dump,
        CoreCommand.FORGET: _forget,
        CoreCommand.PARK: _park,
        CoreCommand.LIMITS: _limits,
    }
)

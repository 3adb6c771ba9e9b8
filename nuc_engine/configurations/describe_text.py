"""The description of a model, laid out as text; rows of fields take up to 100 columns, and a screen parts them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nuc_engine.configurations.describe import Data
from nuc_engine.model.values import UNSET

if TYPE_CHECKING:
    from nuc_engine.configurations.pose import Pose

WIDTH = 80
_GROUPS = (
    ("engine", "Engine"),
    ("entry rule of", "Thresholds and operands of the entry rules"),
    ("width of", "Thresholds and operands of the entry rules"),
    ("activation of", "Muscle activations"),
    ("force-length of", "Muscle functions"),
    ("passive stiffness of", "Muscle functions"),
    ("force-velocity of", "Muscle functions"),
    ("dwell time of", "Dwell times"),
    ("central entry of", "Central entries"),
    ("hold of", "Central entries"),
    ("activation dynamics of", "Muscle activations"),
    ("influence on", "Muscle activations"),
    ("leads", "Controls"),
    ("geometry of", "Geometry"),
    ("position command of", "Motor commands"),
    ("force command of", "Motor commands"),
    ("parameter of the signal", "Signal processing"),
)
_ORDER = (*dict.fromkeys(title for _, title in _GROUPS), "Others")
_KERNEL = ("a", "b", "c", "wmin", "wmax")
"""Parameters of an activation's kernel, in order (equations 7-3 and 7-4)."""


@dataclass(frozen=True, slots=True)
class TextStyles:
    """How to set headings, names and side remarks, and what to print as a patch of a colour (parts in 0..1)."""

    heading: Callable[[str], str]
    name: Callable[[str], str]
    faint: Callable[[str], str]
    patch: Callable[[Sequence[float]], str]


PLAIN = TextStyles(str, str, str, lambda _color: "")


def model_lines(data: Data, ink: TextStyles = PLAIN) -> Iterator[str]:
    """Yield the lines of a model that `describe_model` described."""
    title = data["fullname"] or data["label"] or ""
    yield ink.heading(data["name"]) + (f": {title}" if title else "")
    yield from _wrapped(data["description"], 2)
    counts = data["counts"]
    yield "  " + ", ".join(f"{number} {what if number != 1 else what[:-1]}" for what, number in counts.items())
    if "scale" in data:
        factor = data["scale"] ** 0.5
        yield f"  {data['scale']:g} times as large as the animal: one of its seconds is {factor:.4g} s of the leg"
    if "extensions" in data:
        added = ", ".join(f"{what} ({which})" for what, which in data["extensions"].items())
        yield f"  added to the engine: {added}"
    if "muscle_period" in data:
        period = data["muscle_period"]
        yield f"  muscles are computed every {_valued(period)}, apart from rules  {ink.faint(_named(period))}"
    for joint in data["joints"]:
        yield ""
        yield from _joint(joint, ink)
    for module in data.get("modules", ()):
        yield ""
        yield from _module(module, ink)
    for control in data.get("controls", ()):
        yield ""
        low, high = control["range"]
        held = "not set: nothing follows it yet" if control["value"] is None else f"= {_value(control['value'])}"
        yield ink.heading(f"CONTROL  {control['name']}") + f"  {held}; can be {low:g} to {high:g}"
        yield "  What follows it, and nobody else writes: places of the control, and the values there;"
        yield "  straight lines between."
        for item in control["maps"]:
            pairs = zip(item["points"][::2], item["points"][1::2], strict=True)
            yield f"  {item['id']:>4}  {item['name']}  " + ", ".join(f"{place:g}: {value:g}" for place, value in pairs)
    yield from _parameters(data["parameters"], ink)
    yield ""
    yield ink.heading("SENSORS")
    for sensor in data["sensors"]:
        yield from _hdso(sensor, ink)


def change_lines(moments: Sequence[Data], ink: TextStyles = PLAIN) -> Iterator[str]:
    """Yield the lines of a script that `describe_changes` described."""
    yield ink.heading("SCRIPT")
    for moment in moments:
        writes, same = moment["changes"], sum(not change["changes"] for change in moment["changes"])
        remark = f", {same} of them to the value it has already" if same else ""
        by_hand = [text.strip("</>") for text in moment["by_hand"]]
        bare = by_hand or moment.get("senses") or moment.get("triggers")
        told = [f"{len(writes)} written{remark}"] if writes or not bare else []
        told += ["by hand"] if by_hand else []
        nerves = [" ".join(text.split()) for text in (*moment.get("senses", ()), *moment.get("triggers", ()))]
        told += ["sensed"] if moment.get("senses") else []
        told += ["waiting"] if moment.get("triggers") else []
        yield f"  at {moment['time_s']:g} s: {'; '.join(told)}"
        for text in (*by_hand, *nerves):
            yield from _wrapped(text, 4)
        for change in (change for change in writes if change["changes"]):
            yield from _change(change, ink)
        if moment["requests"]:
            names = ("every HDSO" if item is None else item["name"] for item in moment["requests"])
            yield from _wrapped("asks for " + ", ".join(names), 4)


def pose_lines(pose: Pose, ink: TextStyles = PLAIN) -> Iterator[str]:
    """Yield the lines of a pose: one per joint, then the ends of the chains."""
    yield ink.heading("POSE") + "  (cm; x forward, y left, z up; origin as in the first A-matrix)"
    width = max(len(joint.name) for joint in pose.joints)
    yield f"  {'joint':<{width}}  {'angle':>10}  {'servo':>10}  {'x':>8} {'y':>8} {'z':>8}"
    for joint in pose.joints:
        raw = "" if joint.raw is None else f"{joint.raw:.1f} raw"
        x, y, z = joint.position_cm
        remarks = [
            *(["held by its servo"] if joint.name in pose.assumed else []),
            *([] if joint.reachable else ["out of reach"]),
        ]
        yield (
            f"  {joint.name:<{width}}  {joint.angle_deg:>6.1f} deg  {raw:>10}  {x:>8.3f} {y:>8.3f} {z:>8.3f}"
            + (f"  {', '.join(remarks)}" if remarks else "")
        )
    for last, (x, y, z) in pose.ends.items():
        label = "foot" if len(pose.ends) == 1 else f"end after {last}"
        yield ink.name(f"  {label:<{width}}  {'':>10}  {'':>10}  {x:>8.3f} {y:>8.3f} {z:>8.3f}")


def _joint(joint: Data, ink: TextStyles) -> Iterator[str]:
    kind = "END" if joint["endpoint"] else "JOINT"
    yield ink.heading(f"{kind} {joint['id']}  {joint['name']}") + _titled(joint)
    parent = joint["parent"]
    facts = ["on the body" if parent is None else f"after {parent['name']} ({parent['id']})"]
    if joint["control_mode"]:
        facts.append(f"control mode {joint['control_mode']}")
    if joint["start_state"]:
        facts.append(f"starts in {joint['start_state']['name']}")
    if joint["linespec"]:
        facts.append(f"line style {joint['linespec']}")
    yield "  " + "; ".join(facts)
    yield from _wrapped(joint["description"], 2)
    if joint["motor"]:
        yield from _motor(joint["motor"], ink)
    yield from _geometry(joint["geometry"], ink)
    for muscle in joint["muscles"]:
        yield from _muscle(muscle, ink)
    for state in joint["states"]:
        yield from _state(state, ink)
    yield from _soft(joint, ink)
    for organ in joint["sense_organs"]:
        names = ", ".join(sensor["name"] for sensor in organ["sensors"])
        sensors = f"  [{names}]" if names else ""
        yield "  " + _head("Sense organ", organ, ink) + sensors
        yield from _wrapped(organ["description"], 4)


def _motor(motor: Data, ink: TextStyles) -> Iterator[str]:
    yield "  " + _head("Motor", motor, ink)
    (low, high), slope = motor["range_deg"], motor["angle_cal2"]
    model = f", model {motor['model']}" if motor["model"] else ""
    yield (
        f"    raw = {motor['angle_cal1']:g} {'-' if slope < 0 else '+'} {abs(slope):g} x angle in deg;"
        f" reaches {low:.1f} to {high:.1f} deg; torque direction {motor['dir']:+d}"
    )
    angle, load = motor["angle_sensor"]["name"], motor["load_sensor"]["name"]
    yield f"    bus id {motor['bus_id']}{model}; angle is {angle}, load is {load}"
    if "family" in motor:
        yield from _units(motor)
    if motor.get("others"):
        yield f"    or, on other buses: {', '.join(motor['others'])}"
    for what in ("position_command", "force_command"):
        command = motor[what]
        if command:
            yield f"    {what.replace('_', ' ')}: {_valued(command)}  {ink.faint(_named(command))}"
    yield from _wrapped(motor["description"], 4)


def _units(motor: Data) -> Iterator[str]:
    low, high = motor["goals"]
    table = f" by {motor['torque_table']}" if motor["torque_table"] else f" = {motor['delta_ticks']:.3g} ticks"
    limit = f", at most {motor['torque_limit_n_m']:.3g} N m" if motor["torque_limit_n_m"] else ""
    yield f"    {motor['family']}: raw {low} to {high} in ticks of {motor['tick_deg']:.3g} deg"
    yield f"    a unit of muscle output is {motor['delta_torque_n_m']:.4g} N m{table}"
    yield (
        f"    set to {motor['stiffness_n_m_deg']:.4g} N m per deg{limit}; a count of its load reading is"
        f" {motor['current_scale']:.4g} of the sensor"
    )


def _geometry(geometry: Data, ink: TextStyles) -> Iterator[str]:
    if geometry["amatrix"] is None and geometry["dh_line"] is None:
        return
    yield f"  {ink.name('Geometry')}"
    if geometry["amatrix"] is not None:
        for k, row in enumerate(geometry["amatrix"]):
            yield f"    {'A-matrix' if k == 0 else '':<10}" + " ".join(f"{number:>9.4f}" for number in row)
    line = geometry["dh_line"]
    if line is not None:
        yield (
            f"    {'DH line':<10}a = {line['a_cm']:g} cm, d = {line['d_cm']:g} cm, alpha = {line['alpha_deg']:.4g} deg,"
            f" {line['rad_per_unit']:.6g} rad per unit"
        )
    yield from _wrapped(geometry["description"], 4)


def _muscle(muscle: Data, ink: TextStyles) -> Iterator[str]:
    yield "  " + _head("Muscle", muscle, ink)
    pull = "larger" if muscle["r"] > 0 else "smaller"
    yield (
        f"    pulls towards {pull} angles (r = {muscle['r']:g}); Lnaught {muscle['l_naught']:g},"
        f" alpha {muscle['alpha_deg']:g} deg, fmax {muscle['fmax']:g}"
    )
    for use, function in muscle["functions"].items():
        parameters, formula = ink.faint(_listed(function["parameters"])), function["formula"] or UNSET
        yield f"    {use.replace('_', ' '):<18} {function['type']:<11} {formula:<12} {parameters}"
    for way, tau in muscle.get("dynamics", {}).items():
        yield f"    activation {way}s with a time constant of {_value(tau['value'])} s  {ink.faint(_named(tau))}"
    if "efferent_delay" in muscle:
        delay = muscle["efferent_delay"]
        yield f"    activation takes {_value(delay['value'])} s to the muscle  {ink.faint(_named(delay))}"
    yield from _wrapped(muscle["description"], 4)


def _soft(joint: Data, ink: TextStyles) -> Iterator[str]:
    if "soft_switching" not in joint:
        return
    yield f"  {ink.name('Soft switching')}  actions are blended by how true their entry rules are"
    for item in joint["soft_switching"]["widths"]:
        width = f"{_valued(item['width'])}  {ink.faint(_named(item['width']))}"
        yield f"    comparisons with {item['name']} go from false to true over {width}"


def _module(module: Data, ink: TextStyles) -> Iterator[str]:
    yield ink.heading(f"MODULE {module['id']}  {module['name']}") + _titled(module)
    yield from _wrapped(module["description"], 2)
    yield f"  without a motor; starts in {module['start_state']}"
    yield "  What a state writes when it is entered stays until another state writes it."
    for state in module["states"]:
        yield "  " + _head("State", state, ink)
        yield from _wrapped(state["description"], 4)
        yield f"    enter when   {ink.name(_value(state['rule']['by_name']))}"
        yield from _central(state, ink)
        for item in state["writes"]:
            yield f"    writes       {item['id']} {item['name']} = {item['text']}"


def _central(state: Data, ink: TextStyles) -> Iterator[str]:
    if "central" not in state:
        return
    central = state["central"]
    yield f"    or centrally {ink.name(_value(central['by_name']))}  {ink.faint(_named(central))}"
    if central["hold"] is None:
        yield "                 hold 0: a sensory entry that is true undoes it at the next evaluation"
    else:
        held = central["hold"]
        wait = UNSET if held["value"] is None else f"{held['value'] / 1e6:g} ms"
        yield f"                 sensory entries then wait for {wait}  {ink.faint(_named(held))}"


def _state(state: Data, ink: TextStyles) -> Iterator[str]:
    patch, color = "", ""
    if state["color"]:
        patch = ink.patch(state["color"])
        color = "  colour " + " ".join(f"{part:g}" for part in state["color"])
    yield "  " + patch + _head("State", state, ink) + ink.faint(color)
    yield from _wrapped(state["description"], 4)
    rule = state["rule"]
    yield f"    enter when   {ink.name(_value(rule['by_name']))}"
    yield f"    by id        {_value(rule['by_id'])}  {ink.faint(_named(rule))}"
    yield f"    at start     {_value(rule['at_start'])}"
    yield from _wrapped(rule["description"], 17)
    yield from _central(state, ink)
    if state["dwell"]:
        yield f"    dwell        {_valued(state['dwell'])}  {ink.faint(_named(state['dwell']))}"
    for activation in state["activations"]:
        yield from _activation(activation, ink)


def _activation(activation: Data, ink: TextStyles) -> Iterator[str]:
    head = f"    activation   {activation['muscle']['name']}: {activation['function']}"
    names = ink.faint(_listed(activation["parameters"]))
    if not activation["sensors"]:
        yield f"{head} {_value(activation['value'])}  {names}"
    else:
        yield f"{head}  {names}"
        for k, sensor in enumerate(activation["sensors"]):
            numbers = map(_number, activation["value"][5 * k : 5 * k + 5])
            parts = [f"{what} {number}" for what, number in zip(_KERNEL, numbers, strict=False)]
            yield f"{'':17}K of {_both(sensor)}: {', '.join(parts)}"
    for item in activation.get("influences", ()):
        function = "" if item["function"] is None else f"{item['function']} {_value(item['parameters'])} of "
        low, high = activation["bounds"]
        within = f"within {_number(low)} to {_number(high)}"
        yield f"{'':17}+ {_value(item['gain']['value'])} x {function}{item['name']}, {within}"
    yield from _wrapped(activation["description"], 17)


def _parameters(parameters: Sequence[Data], ink: TextStyles) -> Iterator[str]:
    groups: dict[str, list[Data]] = {title: [] for title in _ORDER}
    for parameter in parameters:
        groups[_group(parameter)].append(parameter)
    groups = {"Entry rules": [], **groups}
    groups["Entry rules"] = [p for p in parameters if p["kind"] == "boolstring"]
    for title, members in groups.items():
        if members:
            yield ""
            yield ink.heading("PARAMETERS  ") + title
            for member in members:
                yield from _hdso(member, ink)


def _group(parameter: Data) -> str:
    if parameter["kind"] == "boolstring":
        return "Others"
    for use in parameter["used_by"]:
        for start, title in _GROUPS:
            if use.startswith(start):
                return title
    return "Others"


def _hdso(hdso: Data, ink: TextStyles) -> Iterator[str]:
    constant = " (constant)" if hdso["kind"] == "constant" else ""
    yield f"  {hdso['id']:>4}  {ink.name(hdso['name'])}{_titled(hdso)}{constant}"
    if hdso.get("by_id") is not None:
        yield f"        {hdso['by_name']}"
        yield f"        {hdso['by_id']}"
    elif hdso["kind"] != "sensor" or hdso["value"] is not None:
        yield from _wrapped(_facts(hdso), 8)
    else:
        yield f"        {hdso['datatype']}{_unit(hdso)}{_ranges(hdso)}"
    if "signal" in hdso:
        yield from _wrapped(_block(hdso), 8)
    yield from _wrapped(hdso["description"], 8)
    if hdso["used_by"]:
        yield from _wrapped("for: " + ", ".join(hdso["used_by"]), 8, ink.faint)


def _block(signal: Data) -> str:
    """Return how a signal is computed: `= lowpass of TC1_current (time constant in s: tau = 0.1), counting samples`."""
    of = ", ".join(item["name"] for item in signal["inputs"])
    given = zip(signal["parameter_names"], signal["signal_parameters"], strict=True)
    parameters = ", ".join(f"{name}: {item['name']} = {_value(item['value'])}" for name, item in given)
    counting = ", counting samples" if signal["per_sample"] else ""
    if "of" in signal:
        rate = f"; its time passes at the rate of {of}" if of else ""
        return f"= {_of_actions(signal)}{f' ({parameters})' if parameters else ''}{rate}"
    return f"= {signal['signal']}{of and ' of '}{of}{f' ({parameters})' if parameters else ''}{counting}"


def _of_actions(signal: Data) -> str:
    """Return what a signal tells of actions."""
    return {
        "state": f"1 while {signal['of']} is the current action, else 0",
        "weight": f"how much of {signal['of']} is in the joint's action, 0 to 1",
        "action": f"number of the current action of {signal['of']}",
        "time_in_action": f"seconds since {signal['of']} entered its current action",
        "decay": f"what is left of the current action of {signal['of']}, 1 at first, {signal.get('shape')}",
        "switching": f"switches per second of {signal['of']}"
        + (", forced ones left out" if signal.get("counted") == "sensory" else ""),
    }[signal["signal"]]


def _facts(hdso: Data) -> str:
    size = "" if hdso["dims"] == [1] else " " + " x ".join(map(str, hdso["dims"]))
    return f"= {_valued(hdso)}  ({hdso['datatype']}{size}{_ranges(hdso)})"


def _ranges(hdso: Data) -> str:
    texts: list[str] = []
    for kind, span in hdso["ranges"].items():
        low, high = ("..." if span[end] is None else _number(span[end]) for end in ("lower", "upper"))
        step = f", step {_number(span['quantum'])}" if span["quantum"] is not None else ""
        texts.append(f"{kind} {low} to {high}{step}")
    return "".join(f"; {text}" for text in texts)


def _change(change: Data, ink: TextStyles) -> Iterator[str]:
    name = f"{change['id']:>8}  {ink.name(change['name'])}"
    if change["kind"] == "boolstring":
        yield name
        yield f"          was  {_value(change['before'])}"
        yield f"          now  {_value(change['after'])}"
    else:
        yield f"{name}  {_value(change['before'])} -> {_value(change['after'])}{_unit(change)}"


def _valued(item: Data) -> str:
    return _value(item["value"]) + (_unit(item) if item["value"] is not None else "")


def _value(value: Any) -> str:
    if value is None:
        return UNSET
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(_number(number) for number in value)  # pyright: ignore[reportUnknownVariableType]
    return _number(value)


def _number(value: int | float | None) -> str:
    if value is None:
        return UNSET
    return str(value) if isinstance(value, int) else f"{value:.10g}"


def _unit(item: Data) -> str:
    return f" {item['unit']}" if item["unit"] not in (None, "dimensionless") else ""


def _named(item: Data) -> str:
    return _listed([item])


def _listed(items: Sequence[Data]) -> str:
    return f"({', '.join(_both(item) for item in items)})"


def _both(item: Data) -> str:
    return f"{item['id']} {item['name']}"


def _head(what: str, item: Data, ink: TextStyles) -> str:
    return ink.name(f"{what} {item['id']}  {item['name']}") + _titled(item)


def _titled(item: Data) -> str:
    return f": {item['fullname']}" if item["fullname"] else ""


def _wrapped(text: str | None, indent: int, finish: Callable[[str], str] = str) -> Iterator[str]:
    space = " " * indent
    for line in textwrap.wrap(text or "", WIDTH - indent, break_long_words=False, break_on_hyphens=False):
        yield space + finish(line)

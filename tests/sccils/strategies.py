"""Random documents, each valid by itself: odd characters, extreme numbers, everything optional present or not."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import get_args

from hypothesis import strategies as st

from sccils_schemas import by_hand as hand
from sccils_schemas import documents as doc
from sccils_schemas.elements import USES
from sccils_schemas.numbers import FLOAT_MAX, INTEGER_RANGE

DATATYPES: tuple[doc.DataType, ...] = get_args(doc.DataType)
# Whatever XML can hold, white space of every sort and characters with a meaning in it included.
characters = st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
odd = st.text(characters | st.sampled_from("\t\n\r<>&\"' \x85\u00a0\u2028]"), max_size=12)
labels = st.none() | odd
edged = odd.map(lambda text: text.strip(" \t\r\n"))
texts = st.none() | edged
names = st.from_regex(r"[A-Za-z_\u00e4\u03b1][A-Za-z0-9_.\-\u00e4]{0,12}", fullmatch=True)
ids = st.integers(0, 2**31 - 1)
doubles = st.floats(allow_nan=False, allow_infinity=False)
floats = st.floats(-FLOAT_MAX, FLOAT_MAX) | st.floats(width=32, allow_nan=False, allow_infinity=False)
times = st.decimals(0, 10**9, places=9) | st.decimals(0, 100, places=1) | st.just(Decimal("1E+2"))


def numbers(datatype: str) -> st.SearchStrategy[int | float]:
    if datatype in INTEGER_RANGE:
        low, high = INTEGER_RANGE[datatype]
        return st.integers(low, high) | st.sampled_from([low, high])
    return doubles if datatype == "double" else floats


@st.composite
def mods(draw: st.DrawFn) -> doc.HdsoMod:
    datatype = draw(st.sampled_from(DATATYPES))
    data: tuple[int | float, ...] | str = ()
    if draw(st.booleans()):
        data = draw(odd.filter(len)) if datatype == "char" else tuple(draw(st.lists(numbers(datatype), max_size=4)))
    by_name = draw(st.booleans())
    return doc.HdsoMod(
        id_num=draw(st.integers(-4, 2**31 - 1)),
        num_elts=len(data),
        data=data,
        name=draw(names if by_name else labels),
        id_by_name=by_name,
        datatype=datatype,
        time_s=draw(times),
    )


@st.composite
def specs(draw: st.DrawFn) -> doc.HdsoSpec:
    by_name = draw(st.booleans())
    return doc.HdsoSpec(
        id_num=draw(st.integers(-4, 2**31 - 1)),
        num_elts=draw(st.integers(0, 999)),
        name=draw(names if by_name else labels),
        id_by_name=by_name,
        datatype=draw(st.sampled_from(DATATYPES)),
        time_s=draw(times),
    )


def some(strategy: st.SearchStrategy[object], most: int = 2) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(strategy, max_size=most).map(tuple)


graduals = st.builds(
    doc.Gradual,
    time_s=times,
    duration_s=times,
    steps=st.integers(0, 999),
    mods=st.lists(mods().map(lambda mod: replace(mod, time_s=Decimal(0))), min_size=1, max_size=2).map(tuple),
)
by_hand = st.one_of(
    st.builds(hand.KickEntry, times, st.none() | st.tuples(doubles, doubles, doubles), st.none() | times),
    st.builds(hand.GroundEntry, times, st.booleans()),
    st.builds(hand.HeightEntry, times, doubles),
    st.builds(hand.LoadEntry, times, doubles, times),
    st.builds(hand.DisconnectEntry, times, odd, times),
    st.builds(hand.ReconnectEntry, times, times),
)
senses = st.builds(doc.SenseClamp, times, ids | names, st.sampled_from(get_args(doc.SenseMode)), st.none() | doubles)
whens = st.builds(
    doc.When,
    rule=odd,
    mods=st.lists(mods().map(lambda mod: replace(mod, time_s=Decimal(0))), min_size=1, max_size=2).map(tuple),
    holds_s=times,
    after_s=times,
    time_s=times,
    until_s=st.none() | times,
    times=st.integers(0, 999),
    refractory_s=times,
)
newer = {"version": st.just("0.2")}
scripts = st.builds(
    doc.HdsoScript,
    entries=some(mods() | specs() | graduals | senses | whens | by_hand, 4),
    name=labels,
    fullname=labels,
    script_type=labels,
    description=texts,
    **newer,
)


@st.composite
def ranges(draw: st.DrawFn) -> doc.Range:
    lower, upper = draw(st.none() | doubles), draw(st.none() | doubles)
    if lower is not None and upper is not None:
        lower, upper = min(lower, upper), max(lower, upper)
    return doc.Range(
        draw(st.sampled_from(["suggested", "valid", "normal", "invalid"])), lower, upper, draw(st.none() | doubles)
    )


@st.composite
def hdsos(draw: st.DrawFn) -> doc.Hdso:
    datatype, xmltype = draw(st.sampled_from(DATATYPES)), draw(st.sampled_from(DATATYPES))
    abstract = draw(st.none() | st.sampled_from(["parameter", "sensor", "constant", "boolstring"]))
    dims = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    count = 1
    for size in dims:
        count *= size
    data: tuple[int | float, ...] | str | None = None
    if draw(st.booleans()):
        as_text = xmltype == "char" or abstract == "boolstring"
        data = draw(edged) if as_text else tuple(draw(st.lists(numbers(datatype), min_size=count, max_size=count)))
    return doc.Hdso(
        id_num=draw(ids),
        name=draw(names),
        dims=dims,
        fullname=draw(labels),
        description=draw(texts),
        abstract_type=abstract,
        units=draw(labels),
        datatype=datatype,
        xmltype=xmltype,
        overflow_correction=draw(st.integers(0, 1)),
        ranges=draw(some(ranges())),
        initial_data=data,
    )


one_ref = ids | names
refs = some(one_ref)
signals = st.builds(
    doc.Signal,
    id_num=ids,
    name=names,
    fullname=labels,
    description=texts,
    units=labels,
    datatype=st.sampled_from(["float", "double"]),
    type=st.sampled_from(get_args(doc.SignalType)),
    inputs=refs,
    parameters=refs,
    per_sample=st.booleans(),
    of=st.none() | names,
    shape=st.sampled_from(get_args(doc.DecayShape)),
    counted=st.sampled_from(get_args(doc.Counted)),
    dims=st.just((1,)),
    abstract_type=st.just("sensor"),
    xmltype=st.just("float"),
    overflow_correction=st.just(0),
    ranges=st.just(()),
    initial_data=st.none(),
)
controls = st.builds(
    doc.Control,
    id_num=ids,
    name=names,
    fullname=labels,
    description=texts,
    units=labels,
    maps=some(
        st.builds(doc.ControlMap, one_ref, st.lists(doubles, max_size=4).map(tuple), element=st.integers(0, 2**31 - 1))
    ),
    dims=st.just((1,)),
    abstract_type=st.just("parameter"),
    datatype=st.just("double"),
    xmltype=st.just("float"),
    overflow_correction=st.just(0),
    ranges=st.tuples(doubles, doubles).map(lambda ends: (doc.Range("valid", *ends),)),
    initial_data=st.none() | st.tuples(doubles),
)
hdsolists = st.builds(
    doc.HdsoList,
    hdsos=some(hdsos() | signals | controls, 3),
    name=labels,
    fullname=labels,
    description=texts,
    data_set_type=labels,
    **newer,
)

colours = st.none() | st.tuples(*[st.floats(0, 1)] * 3)
plotstyles = st.none() | st.builds(doc.PlotStyle, labels, colours)
function_types = st.sampled_from(get_args(doc.FunctionType))
functions = st.builds(doc.FunctionSpec, function_types, st.sampled_from(USES), some(mods()))
muscles = st.builds(
    doc.Muscle,
    ids,
    names,
    doubles,
    doubles,
    doubles,
    doubles,
    functions=some(functions),
    dynamics=st.none() | st.builds(doc.ActivationDynamics, st.none() | one_ref, st.none() | one_ref),
    efferent_delay=st.none() | one_ref,
    fullname=labels,
    description=texts,
)
operands = some(ids | names | st.builds(doc.Delayed, ids | names, st.integers(1, 60_000_000)))
activations = st.builds(
    doc.MuscleActivation,
    st.integers(-999, 2**31 - 1),
    st.sampled_from(get_args(doc.ActivationFunction)),
    sensors=operands,
    parameters=refs,
    mods=some(mods()),
    influences=some(
        st.builds(
            doc.Influence,
            one_ref,
            one_ref,
            function=st.none() | st.sampled_from(get_args(doc.InfluenceFunction)),
            parameters=refs,
        )
    ),
    bounds=refs,
    name=labels,
    description=texts,
)
rules = st.builds(
    doc.TransitionRule,
    boolstring=labels,
    mods=st.lists(mods(), min_size=1, max_size=2).map(tuple),
    representation=st.sampled_from(["text", "HDSO"]),
    description=texts,
)
states = st.builds(
    doc.State,
    ids,
    names,
    activations=some(activations),
    rule=rules,
    dwell_time=st.none() | mods(),
    action=st.none() | st.builds(doc.Action, st.lists(mods(), min_size=1, max_size=2).map(tuple), texts),
    central=st.none() | st.builds(doc.Central, one_ref, st.none() | one_ref, texts),
    fullname=labels,
    description=texts,
    plotstyle=plotstyles,
)
organs = st.builds(doc.SenseOrgan, ids, names, mods=some(mods()), fullname=labels, description=texts)
servos = {
    "serial_id": st.integers(-999, 2**31 - 1),
    "dir": st.sampled_from([1, -1]),
    "angle_cal1": doubles,
    "angle_cal2": doubles,
    "bus": labels,
    "sensorspecs": some(st.builds(doc.SensorSpec, some(mods()), texts)),
    "force_command": st.none() | mods(),
    "position_command": st.none() | mods(),
    "fullname": labels,
    "description": texts,
}
aimotors = st.builds(doc.AiMotor, ids, names, modelnum=labels, **servos)
motors = st.builds(
    doc.Motor,
    ids,
    names,
    model=names,
    delta_torque_n_m=st.none() | doubles,
    stiffness_n_m_deg=st.none() | doubles,
    torque_limit_n_m=st.none() | doubles,
    current_scale=st.none() | doubles,
    current_per_speed=st.none() | doubles,
    current_dead=st.none() | doubles,
    current_sign=st.sampled_from(["reading", "drive"]),
    position_min=st.none() | st.integers(-999, 2**31 - 1),
    position_max=st.none() | st.integers(-999, 2**31 - 1),
    torque_table=labels,
    cycle_min_ms=st.none() | doubles,
    **servos,
)
geometries = st.builds(doc.Geometry, st.none() | mods(), st.none() | mods(), texts)
joints = st.builds(
    doc.Joint,
    st.integers(1, 2**31 - 1),
    names,
    parent=st.integers(-999, 2**31 - 1),
    start_state=st.integers(-999, 2**31 - 1),
    control_mode=st.sampled_from(get_args(doc.ControlMode)),
    endpoint=st.booleans(),
    muscles=some(muscles),
    states=some(states),
    soft=st.none() | st.builds(doc.SoftSwitching, some(st.builds(doc.SwitchingWidth, one_ref, one_ref))),
    sense_organs=some(organs),
    motor=st.none() | aimotors,
    motors=some(motors),
    geometry=geometries,
    plotstyle=plotstyles,
    fullname=labels,
    description=texts,
)
modules = st.builds(
    doc.UpperModule,
    ids,
    names,
    st.integers(-999, 2**31 - 1),
    states=some(states),
    fullname=labels,
    description=texts,
)
jointlists = st.builds(
    doc.JointList,
    joints=some(joints),
    modules=some(modules),
    muscle_period=st.none() | one_ref,
    name=labels,
    fullname=labels,
    description=texts,
    scale=st.none() | st.floats(1e-6, 1e6),
    **newer,
)

commands = st.builds(
    doc.Command,
    st.sampled_from(["run", "stop", "log", "stoplog", "extended"]),
    extended_command=labels,
    start_time_s=times,
    stop_time_s=times | st.just(Decimal(-1)) | st.just(Decimal("-0.5")),
    data_destination=st.sampled_from(["local", "network"]),
    script=st.none() | scripts,
    text=edged,
)
responses = st.builds(
    doc.CommandResponse,
    st.sampled_from(["success", "fail", "conditional", "other"]),
    response_type=st.sampled_from(["ack_only", "withdata"]),
    response_time=labels,
    command=st.none() | commands,
    text=edged,
)
configs = st.builds(
    doc.ConfigCommand,
    st.sampled_from(["available", "start", "parameter"]),
    config_name=odd,
    parameters=some(edged),
    text=edged,
)
commandscripts = st.builds(doc.CommandScript, entries=some(commands | responses | configs, 3), script_type=labels)
KINDS = {"jointlist": jointlists, "hdsolist": hdsolists, "hdsoscript": scripts, "commandscript": commandscripts}

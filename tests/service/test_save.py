"""Saving what is in force: reloading it gives the identical store."""

from __future__ import annotations

import math

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from nuc_engine.machine.locations import find_configuration, list_configurations
from nuc_engine.model.changes import Write, prepare
from nuc_engine.model.planning import stored_values
from nuc_engine.model.singularities import Singularities
from nuc_engine.model.store import Store, refusal
from nuc_engine.model.values import initial_values
from nuc_engine.service.configuration import make_configuration, read_configuration
from nuc_engine.service.edits import Recorded
from nuc_engine.service.save import configuration_files, out_of_reach, recorded_script, store_script
from sccils_schemas.documents import HdsoScript
from sccils_schemas.model import check_script
from sccils_schemas.numbers import nanoseconds
from sccils_schemas.parser import parse
from tests.sccils.small import SMALL

SMALL_CONFIGURATION = read_configuration("small", SMALL)
PLAN = SMALL_CONFIGURATION.plan
IDS = {hdso.name: hdso.id_num for hdso in PLAN.hdsos}


def initial_store(configuration):
    store = Store(configuration.plan)
    for write in configuration.plan.initial:
        store.write(write.hdso, write.values)
    return store


def held(store):
    found = ((hdso.index, store.values(hdso.index)) for hdso in store.plan.hdsos)
    return {index: values for index, values in found if values is not None}


def element(hdso):
    low, high = hdso.valid
    low = -1000 if low is None else low
    high = low + 2000 if high is None else high
    if hdso.datatype in ("float", "double"):
        return st.floats(low, high, width=32 if hdso.datatype == "float" else 64, allow_nan=False)
    if hdso.datatype in ("char", "uchar"):
        return st.integers(max(0, math.ceil(low)), min(255, math.floor(high)))
    return st.integers(math.ceil(low), math.floor(high))


def values_of(hdso):
    if hdso.kind == "boolstring":
        texts = ["302 > 103", "(301 < 102)&(302 > 101)", "Coxa_current > pro_load", "191", "((303 < 102))|191"]
        return st.sampled_from(texts).map(lambda text: stored_values(hdso, text, IDS))
    full = st.tuples(*[element(hdso)] * hdso.count)
    return st.one_of(full, full.map(lambda values: values[:1]))


HAZARDS = Singularities(PLAN)
CLOSED = out_of_reach(PLAN, SMALL_CONFIGURATION)
WRITABLE = [
    hdso
    for hdso in PLAN.hdsos
    if hdso.kind in ("parameter", "boolstring") and "geometry" not in CLOSED.get(hdso.index, "")
]
"""What somebody, or the engine itself, may write."""


@st.composite
def writes(draw):
    chosen = draw(st.lists(st.sampled_from(WRITABLE), max_size=8))
    made = [(hdso, draw(values_of(hdso))) for hdso in chosen]
    return computable([(hdso.index, values) for hdso, values in made if refusal(hdso, values) is None])


def computable(changes):
    """Leave out what the channel would refuse: values that can not be computed with."""
    kept = []
    known = held(initial_store(SMALL_CONFIGURATION))
    for index, values in changes:
        if not HAZARDS.of([Write(index, values)], known):
            kept.append((index, values))
            known[index] = tuple(values) + known.get(index, ())[len(values) :]
    return kept


@settings(max_examples=30, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
@given(writes())
def test_a_saved_configuration_gives_the_identical_store(changes):
    store = initial_store(SMALL_CONFIGURATION)
    for index, values in changes:
        store.write(index, values)
    again = make_configuration("again", configuration_files(SMALL_CONFIGURATION, held(store)))
    assert again.plan.hdsos == PLAN.hdsos
    assert initial_store(again).live_bytes() == store.live_bytes()


@settings(max_examples=30, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
@given(writes(), writes())
def test_a_saved_script_gives_the_identical_store_whatever_was_in_force(changes, others):
    store, other = initial_store(SMALL_CONFIGURATION), initial_store(SMALL_CONFIGURATION)
    for index, values in changes:
        if index not in CLOSED:
            store.write(index, values)
    for index, values in others:
        # A script can not take a value away again.
        if index not in CLOSED and store.is_set(index):
            other.write(index, values)
    document, problems = parse(store_script(SMALL_CONFIGURATION, held(store), "again"))
    assert document is not None, str(problems)
    assert isinstance(document, HdsoScript)
    problems = check_script(document, SMALL_CONFIGURATION.model)
    assert problems.ok, str(problems)
    for changeset in prepare(document, PLAN, IDS):
        assert changeset.time_ns == 0
        for write in changeset.writes:
            other.write(write.hdso, write.values)
    assert other.live_bytes() == store.live_bytes()


@pytest.mark.parametrize("name", list_configurations())
def test_every_shipped_configuration_saved_as_it_is_stays_what_it_is(name):
    configuration = read_configuration(name, find_configuration(name))
    store = initial_store(configuration)
    again = make_configuration(name, configuration_files(configuration, held(store)))
    assert again.plan == configuration.plan or initial_values(again.plan) == initial_values(configuration.plan)
    assert initial_store(again).live_bytes() == store.live_bytes()


def test_what_the_joint_list_initialises_is_brought_up_to_date_too():
    store = initial_store(SMALL_CONFIGURATION)
    store.write(PLAN.hdso("pro_angle").index, (13.0,))
    files = configuration_files(SMALL_CONFIGURATION, held(store), "tuned")
    assert b">13<" in files["joints.xml"]
    assert b"tuned" in files["joints.xml"]


def test_a_recording_of_one_time_is_merged():
    angle, rule = PLAN.hdso("pro_angle").index, PLAN.hdso("Enter_Retraction").index
    code = stored_values(PLAN.hdsos[rule], "302 > 103", IDS)
    other = stored_values(PLAN.hdsos[rule], "302 > 101", IDS)
    recorded = [Recorded(0, rule, code), Recorded(0, rule, other), Recorded(1_500_000_000, angle, (2.0,))]
    document, _ = parse(recorded_script(PLAN, recorded, "r"))
    assert [(mod.id_num, mod.data, str(mod.time_s)) for mod in document.entries] == [
        (162, "302 > 101", "0"),
        (102, (2.0,), "1.5"),
    ]


@pytest.mark.parametrize("time_ns", [0, 20_000_000_000, 1, 999, 10**17 + 5])
def test_times_are_written_exactly(time_ns):
    angle = PLAN.hdso("pro_angle").index
    document, problems = parse(recorded_script(PLAN, [Recorded(time_ns, angle, (1.0,))], "r"))
    assert document is not None, str(problems)
    assert not list(problems)
    assert nanoseconds(document.entries[0].time_s) == time_ns


def test_saving_through_the_channel_and_loading_it_again(b, monkeypatch):
    talk = b.client("Ann")
    talk.ask("set", changes=[["pro_angle", 12.5], ["Enter_Retraction", "Coxa_current > pro_load"], ["gap", 4.0]])
    before = b.core.store.live_bytes()
    assert talk.ask("save", name="tuned", description="after lunch")["path"] == str(b.tmp / "configs" / "tuned")
    talk.ask("save", name="tuned", kind="script")
    monkeypatch.chdir(b.tmp)
    assert "tuned" in [found["name"] for found in talk.ask("configurations")]
    talk.ask("configure", name="tuned")
    sensors = [hdso.index for hdso in b.core.plan.hdsos if hdso.kind == "sensor"]
    for index in sensors:
        b.core.store.flags[index] = 0
    assert held(b.core.store) == {k: v for k, v in _held_of(before, b.core.plan).items() if k not in sensors}
    talk.ask(
        "configure",
        name="tuned",
        documents={n: (SMALL / n).read_text() for n in ("joints.xml", "parameters.xml", "sensors.xml")},
    )
    talk.ask("script", text=(b.tmp / "scripts" / "tuned.xml").read_text())
    for index in sensors:
        b.core.store.flags[index] = 0
    assert held(b.core.store) == {k: v for k, v in _held_of(before, b.core.plan).items() if k not in sensors}


def _held_of(content, plan):
    store = Store(plan)
    store.load_bytes(content)
    return held(store)


def test_an_existing_configuration_is_overwritten_only_when_asked(b):
    from tests.service.bench import Refusal

    talk = b.client("Ann")
    talk.ask("save", name="tuned")
    with pytest.raises(Refusal, match="exists"):
        talk.ask("save", name="tuned")
    talk.ask("set", changes=[["pro_angle", 14.0]])
    talk.ask("save", name="tuned", overwrite=True)
    assert ">14<" in (b.tmp / "configs" / "tuned" / "parameters.xml").read_text()
    assert sorted(path.name for path in (b.tmp / "configs").iterdir()) == ["tuned"]

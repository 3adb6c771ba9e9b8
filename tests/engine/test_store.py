"""The store: types, ranges, unset values, whole-cycle snapshots, one block that can be mapped elsewhere."""

import gc
import mmap
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.model.plan import Slot
from nuc_engine.model.store import Store, StoreError, refusal, unfit
from sccils_schemas.numbers import FLOAT_MAX, fits_float
from tests.engine.models import PlanMaker, one_joint

PLAN = one_joint()


def hdso(kind="parameter", datatype="float", dims=(1,), **more):
    make = PlanMaker()
    make.add(7, "thing", kind, datatype, dims, **more)
    return make.hdsos[0]


def test_a_value_is_unset_until_it_is_written():
    store = Store(PLAN)
    index = PLAN.hdso("blank").index
    assert not store.is_set(index)
    assert store.values(index) is None
    store.write(index, (2.5,))
    assert store.is_set(index)
    assert store.values(index) == (2.5,)


def test_fewer_values_write_from_the_beginning():
    store = Store(PLAN)
    index = PLAN.hdso(171).index
    store.write(index, (2.0, -1.5))
    store.write(index, (3.0,))
    assert store.values(index) == (3.0, -1.5)


def test_neighbours_of_every_type_do_not_touch():
    store = Store(PLAN)
    for hdso_plan in PLAN.hdsos:
        store.write(hdso_plan.index, [1] * hdso_plan.count)
    for hdso_plan in PLAN.hdsos:
        store.write(hdso_plan.index, [3] * hdso_plan.count)
        others = [store.values(other.index) for other in PLAN.hdsos if other.index > hdso_plan.index]
        assert all(set(values) == {1} for values in others)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.integers(-(2**63), 2**63 - 1))
def test_floats_and_64_bit_integers_come_back_exactly(number, integer):
    store = Store(PLAN)
    store.write(PLAN.hdso(103).index, (number,))
    store.write(PLAN.hdso(2).index, (integer,))
    assert store.values(PLAN.hdso(103).index) == (number,)
    assert store.values(PLAN.hdso(2).index) == (integer,)


def test_a_reader_sees_whole_cycles_only():
    store = Store(PLAN)
    low, high = PLAN.hdso(103).index, PLAN.hdso(104).index
    store.write(low, (1.0,))
    store.write(high, (1.0,))
    store.publish(1, 100)
    store.write(low, (2.0,))
    half_way = store.snapshot()
    assert (half_way.cycle, half_way.time_ns) == (1, 100)
    assert store.values_in(half_way, low) == store.values_in(half_way, high) == (1.0,)
    store.write(high, (2.0,))
    store.publish(2, 200)
    assert store.values_in(store.snapshot(), high) == (2.0,)
    assert store.values_in(half_way, high) == (1.0,)
    assert store.values_in(half_way, PLAN.hdso("blank").index) is None


def test_a_reader_that_is_overtaken_tries_again():
    writer = Store(PLAN)
    low = PLAN.hdso(103).index
    writer.write(low, (1.0,))
    writer.publish(1, 1)

    class Overtaken(Store):
        """A reader whose copy is interrupted twice by the writer."""

        laps = 0

        def snapshot(self):
            copies = self._copies

            class Slow:
                def __getitem__(_, half):
                    if Overtaken.laps < 2:
                        Overtaken.laps += 1
                        writer.write(low, (10.0 + Overtaken.laps,))
                        writer.publish(10 + Overtaken.laps, 0)
                    return copies[half]

            self._copies = Slow()
            return super().snapshot()

    reader = Overtaken(PLAN, writer._block)
    snapshot = reader.snapshot()
    assert Overtaken.laps == 2
    assert snapshot.cycle == 12
    assert writer.values_in(snapshot, low) == (12.0,)


def test_two_stores_share_one_mapped_block():
    with mmap.mmap(-1, Store.size(PLAN)) as block:
        view = memoryview(block)
        core, reader = Store(PLAN, view), Store(PLAN, view)
        core.write(PLAN.hdso(103).index, (4.5,))
        core.publish(9, 90)
        assert reader.snapshot().cycle == 9
        assert reader.values_in(reader.snapshot(), PLAN.hdso(103).index) == (4.5,)
        for store in (core, reader):
            for name, value in list(vars(store).items()):
                if isinstance(value, memoryview):
                    value.release()
                elif isinstance(value, tuple):
                    [item.release() for item in value if isinstance(item, memoryview)]
                delattr(store, name)
        view.release()


def test_a_block_that_is_too_small_or_foreign_is_refused():
    with pytest.raises(StoreError, match="bytes"):
        Store(PLAN, bytearray(100))
    block = bytearray(Store.size(PLAN) + 64)
    Store(PLAN, block)
    with pytest.raises(StoreError, match="another model"):
        Store(one_joint(force_length=("parabolic", (1.0, 2.0, 3.0))), block)


@pytest.mark.parametrize(
    "change", [{"id_num": 1103}, {"name": "lower"}, {"datatype": "int"}, {"kind": "constant"}, {"offset": 4}]
)
def test_a_block_of_the_same_size_may_still_be_foreign(change):
    block = bytearray(Store.size(PLAN))
    Store(PLAN, block)
    at = PLAN.hdso("blank").index
    hdsos = (*PLAN.hdsos[:at], replace(PLAN.hdsos[at], **change), *PLAN.hdsos[at + 1 :])
    other = replace(PLAN, hdsos=hdsos)
    assert Store.size(other) == len(block)
    with pytest.raises(StoreError, match="another model"):
        Store(other, block)
    assert Store(replace(PLAN, name="the same by another name"), block)


def test_a_new_bout_finds_nothing_of_the_last_one():
    block = bytearray(Store.size(PLAN))
    low = PLAN.hdso(103).index
    before = Store(PLAN, block)
    before.write(low, (4.5,))
    before.publish(7, 70)
    store = Store(PLAN, block)
    assert store.values(low) == (4.5,)
    store.clear()
    assert not any(store.is_set(hdso_plan.index) for hdso_plan in PLAN.hdsos)
    assert store.f32[PLAN.hdso(103).offset // 4] == 0.0
    assert store.snapshot().cycle == 7, "a reader keeps its last whole cycle until the next is published"
    store.publish(0, 0)
    assert store.values_in(store.snapshot(), low) is None


def test_a_reader_never_finds_a_half_that_is_being_written():
    """The half that is published is never touched, and it is switched only when its copy is whole."""
    store = Store(PLAN)
    low = PLAN.hdso(103).index
    seen = []

    class Watched:
        """Looks, as a reader would, whenever the writer copies."""

        def __init__(self, inner):
            self.inner = inner

        def __getitem__(self, half):
            inner = self.inner[half]

            class Copy:
                def __setitem__(_, key, value):
                    seen.append(look())
                    inner[key] = value
                    seen.append(look())

            return Copy()

    copies = store._copies

    def look():
        half = store._header[3]
        data = bytes(copies[half])
        return store._stamps[half][0], store._elements(memoryview(data), low) if data[low] else None

    store._copies = Watched(copies)
    for cycle in (1, 2, 3, 4):
        store.write(low, (float(cycle),))
        store.publish(cycle, cycle)
    store._copies = copies
    assert seen == [state for k in range(4) for state in [(k, (float(k),) if k else None)] * 2]
    assert store.values_in(store.snapshot(), low) == (4.0,)


@pytest.mark.parametrize(
    ("kwargs", "values", "word"),
    [
        ({}, (float("nan"),), "finite"),
        ({}, (1e39,), "finite"),
        ({"datatype": "double"}, (float("inf"),), "finite"),
        ({"valid": (-1.0, 1.0)}, (1.5,), "valid range -1..1"),
        ({"valid": (None, 1.0)}, (1.5,), "valid range -inf..1"),
        ({"invalid": ((2.0, 3.0),)}, (2.0,), "invalid range"),
        ({"datatype": "int"}, (1.5,), "not a int"),
        ({"datatype": "int"}, (2**31,), "not a int"),
        ({"datatype": "uchar"}, (256,), "not a uchar"),
        ({}, (1.0, 2.0), "2 values for 1"),
        ({}, (), "0 values"),
    ],
)
def test_what_does_not_fit_is_refused(kwargs, values, word):
    assert word in unfit(hdso(**kwargs), values)


def test_bounds_belong_to_the_valid_range():
    plan = hdso(valid=(-1.0, 1.0))
    assert unfit(plan, (-1.0,)) is None
    assert unfit(plan, (1.0,)) is None


@pytest.mark.parametrize(
    ("datatype", "low", "high"),
    [
        ("int", -2147483648, 2147483647),
        ("lint", -2147483648, 2147483647),
        ("llint", -9223372036854775808, 9223372036854775807),
        ("char", 0, 255),
        ("uchar", 0, 255),
    ],
)
def test_integers_go_as_far_as_their_width(datatype, low, high):
    make = PlanMaker()
    make.add(7, "thing", datatype=datatype)
    store = Store(replace(PLAN, hdsos=tuple(make.hdsos)))
    for value in (low, high):
        assert unfit(make.hdsos[0], (value,)) is None
        store.write(0, (value,))
        assert store.values(0) == (value,)
    for value in (low - 1, high + 1):
        assert f"not a {datatype}" in unfit(make.hdsos[0], (value,))


def test_the_greatest_float_is_the_one_documents_may_hold():
    rounds_to_it = 3.4028235e38
    assert fits_float(rounds_to_it)
    assert unfit(hdso(), (rounds_to_it,)) is None
    assert unfit(hdso(), (FLOAT_MAX,)) is None


def test_several_invalid_ranges_all_count():
    plan = hdso(valid=(0.0, 9.0), invalid=((1.0, 2.0), (4.0, 5.0)))
    assert unfit(plan, (3.0,)) is None
    assert "valid range 0..9" in unfit(plan, (9.5,))
    for value in (1.5, 4.0, 5.0):
        assert "invalid range" in unfit(plan, (value,))
    for value in (5.5, 0.5):
        assert unfit(plan, (value,)) is None


def test_sensors_and_constants_are_not_written_from_outside():
    assert "engine" in refusal(hdso("sensor"), (1.0,))
    assert "constant" in refusal(hdso("constant"), (1.0,))
    assert refusal(hdso("constant"), (1.0,), constants=True) is None
    assert refusal(hdso(), (1.0,)) is None


def test_access_by_element_is_typed():
    store = Store(PLAN)
    view, at = store.locate(Slot(PLAN.hdso(171).index, 1))
    view[at] = -1.5
    store.flags[PLAN.hdso(171).index] = 1
    assert store.values(PLAN.hdso(171).index)[1] == -1.5


def test_memory_stays_flat_after_warm_up():
    store = Store(PLAN)
    low = PLAN.hdso(103).index

    def work():
        for k in range(300):
            store.write(low, (k / 3,))
            store.publish(k, k)
            store.snapshot()

    work()
    gc.collect()
    before = sys.getallocatedblocks()
    work()
    gc.collect()
    assert sys.getallocatedblocks() - before < 20

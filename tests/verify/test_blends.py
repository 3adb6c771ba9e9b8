"""Nerves that take time are computed; an engine that has others is found where it first does."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nuc_engine.verify import verify_bout
from tests.engine.acting import bout, case, hdso
from tests.verify.seal import resummed
from tests.verify.test_acting import columns, first_difference, turned
from tests.verify.variants import Case

LOGS = ("SensData.txt", "StateData.txt", "MuscleData.txt")
LATE = (r'<muscle (?=[^>]*idNum="40[1356]")', '<muscle efferent_delay="nerve" ')
DYNAMICS = (r"</muscle>", '<activation_dynamics rise="rise" fall="fall"/></muscle>')


def delay(time_s: float, value: float) -> str:
    """Return a write of the delay, as an entry of a script."""
    return f'<hdsoMod idNum="150" NumElts="1" datatype="double" time="{time_s}">{value}</hdsoMod>'


HDSOS = (hdso(150, "nerve", 0.06), hdso(151, "rise", 0.04), hdso(152, "fall", 0.09))
SCRIPT = delay(0.2, 0.9) + delay(0.7, 0.2) + delay(1.1, 0) + delay(1.4, 0.031)
"""Delays that reach behind the start, that are none, and that are no whole periods of rules."""


def nerves(*, dynamics: bool = True) -> Case:
    """Return a bout whose muscles hear late, some of them, by a delay that changes in flight."""
    return case(LATE, *([DYNAMICS] if dynamics else []), hdsos=HDSOS, script=SCRIPT)


CASES = {"nerves": nerves()}


@pytest.mark.parametrize("clock", ["virtual", "real"])
@pytest.mark.parametrize("given", [*CASES.values(), nerves(dynamics=False)], ids=[*CASES, "without dynamics"])
def test_it_is_as_computed(given: Case, clock: str, tmp_path: Path) -> None:
    verdict = verify_bout(bout(given, tmp_path, clock))
    assert verdict.good, verdict.differences[:5]


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A bout of each; not to be changed."""
    return {name: bout(given, tmp_path_factory.mktemp("right")) for name, given in CASES.items()}


WRONG = {
    "no delay": ("nerves", ' efferent_delay="nerve"', ""),
    "a longer delay": ("nerves", "<initial_data>0.06<", "<initial_data>0.08<"),
    "another's delay": ("nerves", 'efferent_delay="nerve"', 'efferent_delay="rise"'),
}
"""What an engine might do instead of what the documents say, as documents that say so."""


@pytest.mark.parametrize("what", WRONG)
def test_an_engine_that_does_otherwise_is_found_at_its_first_record(
    what: str, right: dict[str, Path], tmp_path: Path
) -> None:
    name, old, new = WRONG[what]
    folder = bout(turned(CASES[name], old, new), tmp_path)
    for document in ("joints.xml", "parameters.xml", "sensors.xml"):
        shutil.copy(right[name] / document, folder / document)
    resummed(folder)
    verdict = verify_bout(folder)
    assert not verdict.changed_files
    _, log, record = min(filter(None, (first_difference(right[name] / each, folder / each) for each in LOGS)))
    found = [each.record for each in verdict.differences if each.file == log]
    assert min(found, default=0) == record, verdict.differences[:3]


@pytest.mark.parametrize(("name", "log", "column"), [("nerves", "StateData.txt", "Femur-Tibia.activation[0]")])
def test_a_number_that_was_forged_is_named(
    name: str, log: str, column: str, right: dict[str, Path], tmp_path: Path
) -> None:
    forged = Path(shutil.copytree(right[name], tmp_path / "bout"))
    lines = (forged / log).read_text().splitlines()
    at = columns(forged)[log].index(column)
    words = lines[40].split()
    lines[40] = " ".join([*words[:at], "0.654321", *words[at + 1 :]])
    (forged / log).write_text("\n".join(lines) + "\n")
    resummed(forged)
    (found,) = verify_bout(forged).differences
    assert (found.file, found.record, found.column, found.found) == (log, 41, column, "0.654321")

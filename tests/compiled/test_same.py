"""The compiled core does what the same Python does: same bytes, and either repeats what the other recorded.

Runs under `make compiled-check`. Each process says which core it has.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from nuc_engine.recording.manifest import hash_files, read_record, sha256
from tests.docs import test_acting, test_chapter9
from tests.verify import test_kinds
from tests.verify.variants import Case, documents

ROOT = Path(__file__).resolve().parents[2]
MODULES = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["files"]
SECONDS = 2.0

pytestmark = pytest.mark.skipif(
    os.environ.get("NUC_CORE") != "compiled", reason="THE COMPILED CORE IS NOT TESTED HERE: make compiled-check"
)

RUN = """
import sys
from pathlib import Path
import drivers.port
from nuc_engine.bout.run import BoutSpec, run_bout
assert drivers.port.__file__.endswith(".py") is (sys.argv[1] == "pure"), drivers.port.__file__
config, script, seed, seconds, bus, watched = sys.argv[3:]
more = {"bus": bus} if bus else {}
spec = BoutSpec(config, Path(sys.argv[2]), script=script or None, duration_s=float(seconds), seed=int(seed), **more)
cycles = []

class Watch:
    begin = cycle = lambda self, number, values: cycles.append(number)

run_bout(spec, None, Watch() if watched else None)
assert bool(cycles) == bool(watched)
"""

REPEAT = """
import sys
from pathlib import Path
import drivers.port
from nuc_engine.bout.replay import replay_inputs
assert drivers.port.__file__.endswith(".py") is (sys.argv[1] == "pure"), drivers.port.__file__
report = replay_inputs(Path(sys.argv[2]))
assert report.compared, report
sys.exit(str(report.difference) if report.difference or report.changed_files else 0)
"""


def with_core(core: str, program: str, *words: str) -> None:
    environment = {**os.environ, "NUC_PURE": "1" if core == "pure" else ""}
    done = subprocess.run(
        [sys.executable, "-c", program, core, *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def run(core: str, out: Path, config: str, script: str, seed: int = 3, bus: str = "", watched: str = "") -> Path:
    with_core(core, RUN, str(out), config, script, str(seed), str(SECONDS), bus, watched)
    return out


@pytest.mark.parametrize("module", MODULES)
def test_every_module_of_the_core_is_compiled(module: str) -> None:
    name = module.removesuffix(".py").replace("/", ".")
    assert not str(import_module(name).__file__).endswith(".py")


CONFIGS = sorted(path.parent.name for path in (ROOT / "configs").glob("*/joints.xml"))
CASES = [(config, "", "") for config in CONFIGS] + [
    ("lin_roach", "experiment_a", ""),
    ("lin_roach", "magnet_itf", ""),
    ("lin_roach", "", "emulated:aimotor?drop=0.02&flip=0.02&delay=0.02"),
    ("lin_roach", "", "loopback:aimotor"),
]


@pytest.mark.parametrize(("config", "script", "bus"), CASES)
def test_bouts_have_the_same_bytes(config: str, script: str, bus: str, tmp_path: Path) -> None:
    folders = [run(core, tmp_path / core, config, script, bus=bus) for core in ("pure", "compiled")]
    pure, compiled = (hash_files(folder) for folder in folders)
    assert pure == compiled
    assert len(pure) > 8


@pytest.mark.parametrize("title", test_acting.EXAMPLES)
def test_what_acts_has_the_same_bytes(title: str, tmp_path: Path) -> None:
    """Dynamics, delays, influences, central entries, blends, controls, modules: every example of docs/acting.md."""
    test_bouts_have_the_same_bytes(str(test_acting.made(tmp_path / "lin_roach", title)), "", "", tmp_path)


@pytest.mark.parametrize("title", [title for title, pieces in test_chapter9.BLOCKS.items() if pieces])
def test_what_senses_has_the_same_bytes(title: str, tmp_path: Path) -> None:
    """Signals, delays, clamps, triggers: every example of docs/chapter9.md."""
    config = test_chapter9.made(tmp_path / "lin_roach", test_chapter9.BLOCKS[title])
    test_bouts_have_the_same_bytes(str(config), str(config / test_chapter9.SCRIPT), test_chapter9.MISSING, tmp_path)


@pytest.mark.parametrize(
    "case",
    [
        Case("lin_roach", changes=test_kinds.with_blocks(), script=test_kinds.TUNED + test_kinds.CLAMPS),
        Case("lin_roach", changes=(*test_kinds.ZOO, *test_kinds.LATE), script=test_kinds.LATE_RULES),
    ],
    ids=["every block, clamped", "every delay"],
)
def test_every_kind_has_the_same_bytes(case: Case, tmp_path: Path) -> None:
    config, script = documents(case, tmp_path)
    test_bouts_have_the_same_bytes(str(config), str(script), test_chapter9.MISSING, tmp_path)


def test_a_manifest_says_which_compiled_core_it_was(tmp_path: Path) -> None:
    (file,) = (ROOT / "build/core").glob("nuc_core__mypyc*.so")
    said = {core: read_record(run(core, tmp_path / core, "lin_roach", ""))["versions"] for core in ("pure", "compiled")}
    assert said["compiled"]["core_sha256"] == sha256(file)
    assert said["pure"] == {
        **{name: text for name, text in said["compiled"].items() if name != "core_sha256"},
        "core": "pure Python",
    }


def test_a_bout_that_is_watched_has_the_same_bytes(tmp_path: Path) -> None:
    """Who watches is Python, whatever the recorder is."""
    folders = [
        run("compiled", tmp_path / f"bout{watched}", "lin_roach", "", watched=watched) for watched in ("", "watched")
    ]
    alone, beside = (hash_files(folder) for folder in folders)
    assert alone == beside


@pytest.mark.parametrize(("made_by", "repeated_by"), [("pure", "compiled"), ("compiled", "pure")])
@pytest.mark.parametrize("bus", ["", "emulated:aimotor?drop=0.02&flip=0.02"])
def test_either_repeats_what_the_other_recorded(made_by: str, repeated_by: str, bus: str, tmp_path: Path) -> None:
    bout = run(made_by, tmp_path / "bout", "lin_roach", "experiment_a", bus=bus)
    with_core(repeated_by, REPEAT, str(bout))


def test_version_says_which_core_it_is() -> None:
    for pure, said in (("1", "core: pure Python (NUC_PURE=1)"), ("", "core: compiled")):
        done = subprocess.run(
            [sys.executable, "-m", "nuc_engine.cli", "--version"],
            cwd=ROOT,
            env={**os.environ, "NUC_PURE": pure},
            capture_output=True,
            text=True,
            check=True,
        )
        assert said in done.stdout

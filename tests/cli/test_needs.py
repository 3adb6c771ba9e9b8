"""What is not installed is told in one line before anything starts, with a command that installs it here."""

from __future__ import annotations

import json
import shlex
import sys
from importlib import metadata
from pathlib import Path

import pytest

from nuc_engine.batch.pool import ItemFailed
from nuc_engine.machine import needs
from tests.cli.conftest import Nuc

ROOT = Path(__file__).resolve().parents[2]

CASES = (
    ("run lin_roach", "mujoco"),
    ("run lin_roach --plot", "mujoco matplotlib"),
    ("run lin_roach --bus loopback: --plot", "matplotlib"),
    ("demo", "mujoco"),
    ("sweep lin_roach -v seed=1,2 -o s.csv", "mujoco"),
    ("sweep lin_roach -v seed=1,2 -o s.parquet", "mujoco pyarrow"),
    ("sweep lin_roach -v FT_flux_FTang=50:60 --latin 3 -o s.csv", "scipy"),
    ("sweep lin_roach -v seed=1,2 -o s.csv --dask tcp://127.0.0.1:1", "distributed"),
    ("tune lin_roach -v FT_flux_FTang=50:60 -c FWD -o t.xml", "mujoco optuna"),
    ("minimise experiment_a --at 20", "mujoco"),
    ("experiment A", "mujoco"),
    ("experiment muscles-forward", "scipy"),
    ("serve lin_roach", "mujoco"),
    ("serve lin_roach --bus emulated:?baud=115200", "mujoco"),
    ("emulate lin_roach --pty leg", "mujoco"),
    ("plot {bout}", "matplotlib"),
    ("movie {bout}", "matplotlib PIL"),
    ("movie {bout} --out {empty}/m.mp4", "imageio_ffmpeg"),
    ("compare {bout} {bout} --figure f.svg", "matplotlib"),
    ("export {bout} --parquet --out x", "pyarrow"),
    ("export {bout} --mcap --out x.mcap", "mcap"),
    ("serve lin_roach --mcap", "mcap"),
    ("replay {bout}", "mujoco"),
    ("bus characterise emulated:dynamixel --id 1 --model XM430-W350 --figure f.png", "matplotlib"),
)


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch):
    """`without("mujoco")`: as if that were not installed."""

    def hide(*modules: str) -> None:
        monkeypatch.setenv("PATH", "")  # there may be another ffmpeg
        for module in modules:
            monkeypatch.setitem(sys.modules, module, None)

    return hide


@pytest.mark.parametrize(("line", "lacks"), CASES)
def test_what_a_command_lacks_is_one_line_and_nothing_is_begun(nuc: Nuc, without, bout, tmp_path, line, lacks) -> None:
    without(*lacks.split())
    empty = tmp_path / "empty"
    empty.mkdir()
    before = sorted(tmp_path.rglob("*"))
    result = nuc(*line.format(bout=bout, empty=empty).split())
    assert result.exit_code == 1
    *above, last = result.stderr.splitlines()
    assert not above, result.stderr
    for module in lacks.split():
        name, extra, _ = needs.LIBRARIES[module]
        assert name in last.partition(": ")[0]
        assert extra in last.partition(" install ")[2]
    assert sorted(tmp_path.rglob("*")) == before


def test_a_library_that_nobody_asked_for_is_a_line_too(nuc: Nuc, without, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'scipy.stats'", name="scipy.stats")

    monkeypatch.setattr("nuc_engine.machine.locations.list_configurations", lacks)
    result = nuc()
    assert result.exit_code == 1
    assert result.stderr.startswith("this needs SciPy: ")


def words_of(command: str) -> list[str]:
    """Return a command as a shell takes it apart."""
    return shlex.split(command)


def installed(monkeypatch: pytest.MonkeyPatch, direct_url: str | None) -> Path:
    """Let it be installed from somewhere; return the folder of the package, which is in no checkout."""

    class Distribution:
        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return direct_url

    monkeypatch.setattr(metadata, "distribution", lambda name: Distribution())
    return Path("/somewhere/site-packages/nuc_engine")


def test_a_checkout_is_installed_again_with_the_extras() -> None:
    words = words_of(needs.install_command("mujoco", "optuna", "scipy"))
    assert words[1:] == ["-m", "pip", "install", "-e", f"{ROOT}[sim,lab]"]


@pytest.mark.parametrize("name", ["nuc_engine-0.1.0-py3-none-any.whl", "a folder of mine"])
def test_a_wheel_or_a_folder_is_installed_again_with_the_extra(tmp_path, monkeypatch, name) -> None:
    (tmp_path / name).touch()
    package = installed(monkeypatch, json.dumps({"url": (tmp_path / name).as_uri()}))
    words = words_of(needs.install_command("mujoco", package=package))
    assert words[1:] == ["-m", "pip", "install", f"{tmp_path / name}[sim]"]


@pytest.mark.parametrize("told", [None, json.dumps({"url": "file:///gone/x.whl"}), json.dumps({"url": "https://x/y"})])
def test_where_neither_is_there_any_more_the_libraries_are_installed(monkeypatch, told) -> None:
    package = installed(monkeypatch, told)
    words = words_of(needs.install_command("mujoco", "PIL", package=package))
    assert words[1:] == ["-m", "pip", "install", "mujoco", "pillow"]


def test_every_library_is_in_the_extra_that_is_said_to_bring_it() -> None:
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for _, extra, distribution in needs.LIBRARIES.values():
        assert any(library.startswith(f"{distribution}>=") for library in extras[extra])


def test_the_interpreter_is_called_by_the_name_the_shell_knows_it_by(monkeypatch) -> None:
    monkeypatch.setattr(sys, "executable", "/opt/my tools/bin/python3")
    monkeypatch.setattr(needs.shutil, "which", lambda name: f"/opt/my tools/bin/{name}")
    assert needs.install_command("mujoco").startswith("python -m pip install -e ")
    monkeypatch.setattr(needs.shutil, "which", lambda name: "/usr/bin/python")
    assert needs.install_command("mujoco").startswith("'/opt/my tools/bin/python3' -m pip install -e ")


def test_an_environment_without_pip_is_told_of_uv(without) -> None:
    without("pip")
    assert words_of(needs.install_command("mujoco"))[:4] == ["uv", "pip", "install", "--python"]


def test_nobody_is_told_to_look_for_the_package_on_an_index() -> None:
    folders = ("nuc_engine", "drivers", "sccils_schemas", "docs", "configs", "scripts", "benchmarks", "systemd")
    texts = [
        path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".md", ".toml")
    ]
    told = [path for path in [*texts, ROOT / "README.md"] if "nuc-engine[" in path.read_text(encoding="utf-8")]
    assert told == []


class Inside:
    """Something with a lot in it."""

    def __repr__(self) -> str:
        return "Inside(plan=Plan(name='lin_roach', ...))"


def test_an_item_that_failed_is_named_not_printed() -> None:
    assert str(ItemFailed(3, Inside(), "it broke")) == "item 3 (Inside): it broke"
    assert str(ItemFailed(3, [Inside(), Inside()], "it broke")) == "item 3 (Inside and 1 more): it broke"
    assert str(ItemFailed(3, (7, Inside()), "it broke")) == "item 3 (7): it broke"

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.cli.app import app
from tests.cli.bench_table import Table

CONFIGS = Path(__file__).resolve().parents[2] / "configs"

SCRIPT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE hdsoscript SYSTEM "hdsoscript.dtd">
<hdsoscript name="short" ScriptType="LegScript">
  <hdsoMod idNum="103" name="TC1_retLEV_FTang" NumElts="1" datatype="float" time="0.5">61</hdsoMod>
  <hdsoMod idNum="165" name="Enter_FT_Extension"
      NumElts="23" datatype="char" time="1">(302 &lt; 108)&amp;(307 &gt; 107)</hdsoMod>
  <hdsoMod idNum="166" name="Enter_FT_Flexion"
      NumElts="23" datatype="char" time="1">(302 &gt; 106)|(307 &lt; 109)</hdsoMod>
</hdsoscript>
"""
"""A parameter at 0.5 s, and at 1 s the two rules that make the knee flex under load."""

Nuc = Callable[..., Result]


@pytest.fixture
def nuc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nuc:
    """`nuc("run", "lin_roach")` in an empty working folder; an error that is no message fails the test."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> Result:
        result = CliRunner().invoke(app, list(words))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Table]]:
    """`table(3, 9)` puts servos with these ids on a bench; the tools leave signals as they found them."""

    def lay(*ids: int, **how: Any) -> Table:
        table = Table(*ids, **how)
        monkeypatch.setattr("drivers.serial.port.open_port", table.open_port)
        monkeypatch.setattr("nuc_engine.cli.bus.release.RealPace", lambda: table.pace)
        monkeypatch.setattr("nuc_engine.cli.bus.lines.RealPace", lambda: table.pace)
        return table

    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    yield lay
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


@pytest.fixture
def roach(tmp_path: Path) -> Path:
    """A copy of lin_roach to be changed."""
    return Path(shutil.copytree(CONFIGS / "lin_roach", tmp_path / "my_roach"))


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "short.xml"
    path.write_text(SCRIPT)
    return path


@pytest.fixture(scope="session")
def finished_bout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of two seconds with the short script; not to be changed."""
    place = tmp_path_factory.mktemp("bout")
    (place / "short.xml").write_text(SCRIPT)
    result = run_bout(BoutSpec(str(CONFIGS / "lin_roach"), place / "data", str(place / "short.xml"), 2.0, seed=3))
    assert result.state == "complete"
    return result.folder


@pytest.fixture
def bout(finished_bout: Path, tmp_path: Path) -> Path:
    """A copy of that data directory."""
    return Path(shutil.copytree(finished_bout, tmp_path / "bout"))


def edit(path: Path, pattern: str, replacement: str) -> None:
    """Replace exactly one match in a file."""
    text, found = re.subn(pattern, replacement, path.read_text(), flags=re.DOTALL)
    assert found == 1, f"{pattern} found {found} times in {path.name}"
    path.write_text(text)

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.bout.run import prepare_bout
from nuc_engine.cli.app import COMMANDS, app
from nuc_engine.cli.bout import run
from nuc_engine.cli.terminal.errors import explain
from nuc_engine.cli.terminal.listed import Listed
from nuc_engine.cli.terminal.output import folded, plain, say_json, wrapped
from nuc_engine.cli.terminal.params import typed_rows
from nuc_engine.control.executive import Executive
from nuc_engine.recording.recorder import BoutRecorder
from tests.cli.conftest import CONFIGS, Nuc


def test_nuc_alone_tells_a_newcomer_what_to_try(nuc: Nuc) -> None:
    result = nuc()
    assert result.exit_code == 0
    tried = re.findall(r"^  nuc (\w+) lin_roach", result.stdout, flags=re.MULTILINE)
    assert tried == ["demo", "run", "show"]
    assert all(f"nuc {name}" in result.stdout for name in COMMANDS)
    assert "pc_stickmiddle" in result.stdout


def test_the_commands_of_the_overview_exist_and_take_what_it_says(nuc: Nuc) -> None:
    line = next(line for line in nuc().stdout.splitlines() if "experiment_a" in line)
    words = line.split()[1:]
    command = app.get_command(click.Context(app), words[0])
    assert command is not None
    with command.make_context(words[0], words[1:]) as ctx:
        assert ctx.params["script"] == "experiment_a"
        assert ctx.params["plot"] is True
    assert prepare_bout("lin_roach", "experiment_a").changesets


def test_version(nuc: Nuc) -> None:
    result = nuc("--version")
    assert result.exit_code == 0
    assert re.fullmatch(r"nuc \d+\.\d+\.\d+, core: \w.*\n", result.stdout)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_teaches(nuc: Nuc, name: str) -> None:
    result = nuc(name, "--help")
    assert result.exit_code == 0
    examples = re.findall(rf"^  .*nuc {name}\b.*$", result.stdout.partition("Examples:")[2], flags=re.MULTILINE)
    assert len(examples) >= 2
    assert "Output:" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100


def below(command: click.Command, ctx: click.Context, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield a command and all below it, each with the words that lead to it."""
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            found = command.get_command(ctx, name)
            assert found is not None
            yield from below(found, click.Context(found, ctx, name), *path, name)


def test_help_of_every_command_fits_a_terminal_of_80_columns_and_nothing_of_it_is_cut(
    nuc: Nuc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    every = list(below(app, click.Context(app, info_name="nuc")))
    assert len(every) > 80
    for path, command in every:
        text = nuc(*path, "--help").stdout
        assert max(map(len, text.splitlines())) <= 80, path
        assert letters(command.help) in letters(text), path
        if isinstance(command, Listed):
            assert all(letters(what) in letters(text) for _, what in command.table.values())
        elif isinstance(command, click.Group):
            for inside in command.commands.values():
                sentence = letters(inside.get_short_help_str())
                assert sentence in letters(text), path
                assert letters(inside.help).startswith(sentence), path
                assert sentence.endswith("."), path


def letters(text: str | None) -> str:
    """Return a text however it was laid out."""
    return "".join((text or "").split())


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_gets_no_wider_than_a_page_however_wide_the_terminal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Not by a runner: it has a width of its own.
    monkeypatch.setenv("COLUMNS", "200")
    with app.make_context("nuc", [name]) as parent:
        command = app.get_command(parent, name)
        assert command is not None
        with click.Context(command, parent, name) as ctx:
            assert max(map(len, command.get_help(ctx).splitlines())) <= 100


@given(
    words=st.lists(st.from_regex(r"-{0,2}[a-z0-9/=:]{1,40}", fullmatch=True), min_size=1, max_size=12),
    width=st.integers(20, 100),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_a_long_example_is_parted_so_that_a_shell_puts_it_together_again(words: list[str], width: int) -> None:
    line = " ".join(["nuc", *words])
    rows = typed_rows(line, width)
    assert all(row.endswith(" \\") for row in rows[:-1])
    assert shlex.split("\n".join(rows).replace("\\\n", "")) == shlex.split(line)
    if len(line) + 2 <= width:
        assert rows == [line]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rum"], "did you mean 'run'?"),
        (["xyzzy"], "commands are run,"),
        (["--nope"], "--nope"),
        (["run"], "CONFIG"),
        (["run", "lin_roach", "--oot", "x"], "--out"),
        (["run", "no_such_leg"], "lin_roach"),
        (["show", "lin_roach", "--script", "no_such_script"], "experiment_a"),
        (["replay", "nowhere"], "nowhere"),
        (["completion", "tcsh"], "bash"),
        (["demo", "lin_roach", "--seconds", "-1"], "--seconds"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_status_2(nuc: Nuc, words: list[str], said: str) -> None:
    result = nuc(*words)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert said in result.stderr


def test_errors_are_json_too_where_json_is_asked_for(nuc: Nuc) -> None:
    result = nuc("run", "no_such_leg", "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout) == {"ok": False, "errors": result.stderr.splitlines()}


def test_ctrl_c_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nuc_engine.bout.prepare.prepare_bout", interrupted)
    result = CliRunner().invoke(app, ["show", "lin_roach"])
    assert result.exit_code == 1
    assert result.stderr.strip() == "nuc: stopped"


def test_a_fault_of_the_program_itself_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("nuc_engine.bout.prepare.prepare_bout", broken)
    result = CliRunner().invoke(app, ["show", "lin_roach"])
    assert isinstance(result.exception, ZeroDivisionError)
    assert explain(ZeroDivisionError()) is None


def test_a_place_that_can_not_be_written_to_is_a_line(nuc: Nuc, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    result = nuc("run", "lin_roach", "--duration", "0.1", "--out", "file/data")
    assert result.exit_code == 1
    assert "file" in result.stderr
    assert "Traceback" not in result.stderr


def test_costs_can_be_charged_to_every_task_and_no_other(tmp_path: Path) -> None:
    from nuc_engine.bout.run import open_leg
    from nuc_engine.model.store import Store

    prepared = prepare_bout(str(CONFIGS / "lin_roach"), None)
    _, bus = open_leg(prepared.plan, CONFIGS / "lin_roach", "loopback:", 0)
    store = Store(prepared.plan)
    recorder = BoutRecorder(tmp_path, prepared.model, prepared.plan, store)
    executive = Executive(prepared.plan, bus, recorder, store=store)
    recorder.close()
    assert set(run.TASKS) == {entry.name for entry in executive.entries}


def test_a_path_in_a_line_that_is_wrapped_stays_whole() -> None:
    path = "the-folder/with_a_name/" * 6
    lines = wrapped(f"the figures and all that was measured are in {path} now", "    ")
    assert f"    {path}" in lines
    assert max(len(line) for line in lines if path not in line) <= 80


@pytest.mark.parametrize(
    ("row", "rows"),
    [
        ("  a row that fits", ["  a row that fits"]),
        (f"    angle   {'x' * 40}  (121 {'y' * 30})", [f"    angle   {'x' * 40}", f"            (121 {'y' * 30})"]),
        (f"    raw = {'x' * 40}; reaches {'y' * 30}", [f"    raw = {'x' * 40};", f"      reaches {'y' * 30}"]),
        (f"  \x1b[1m{'x' * 50}\x1b[0m  {'y' * 40}", [f"  \x1b[1m{'x' * 50}\x1b[0m", f"    {'y' * 40}"]),
        (f"  one {'x' * 40} {'y' * 40}", [f"  one {'x' * 40}", f"    {'y' * 40}"]),
        (f"  {'x' * 100}", [f"  {'x' * 100}"]),
    ],
)
def test_a_long_row_is_parted_where_its_fields_are(row: str, rows: list[str]) -> None:
    assert folded(row) == rows


def test_all_further_rows_begin_in_one_column() -> None:
    _, *further = folded("a label  " + "  ".join(["field"] * 40))
    assert len(further) > 2
    assert all(row.startswith(" " * 9 + "field") for row in further)


_WORDS = st.builds(
    lambda word, gap, bold: (click.style(word, bold=True) if bold else word) + gap,
    st.from_regex(r"[a-z0-9;:=()]{1,30}", fullmatch=True),
    st.sampled_from([" ", " ", "  ", "; "]),
    st.booleans(),
)


@given(words=st.lists(_WORDS, min_size=1, max_size=20), indent=st.integers(0, 10))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_rows_that_are_parted_say_what_the_row_said(words: list[str], indent: int) -> None:
    row = " " * indent + "".join(words)
    rows = folded(row)
    assert click.unstyle(" ".join(rows)).split() == click.unstyle(row).split()
    assert re.findall(r"\x1b\[\d+m", "".join(rows)) == re.findall(r"\x1b\[\d+m", row)
    # A word is no longer than 30: there is always a place before it.
    assert max(len(click.unstyle(each).rstrip()) for each in rows) <= 80


def test_json_knows_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    say_json({"a": float("nan"), "b": (1.5, Path("x"))})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [1.5, "x"]}
    assert plain({"k": float("inf")}) == {"k": None}


def test_the_commands_are_not_loaded_before_they_are_used() -> None:
    loaded = "(n for n, (m, _) in a.COMMANDS.items() if 'nuc_engine.cli.' + m in sys.modules)"
    code = f"import sys, nuc_engine.cli.app as a; print(*{loaded})"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []

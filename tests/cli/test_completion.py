from __future__ import annotations

import pytest
from click.shell_completion import ShellComplete

from nuc_engine.cli.app import app
from tests.cli.conftest import Nuc


@pytest.fixture
def complete(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    shell = ShellComplete(app, {}, "nuc", "_NUC_COMPLETE")
    return lambda *words: [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_says_how_to_keep_it_and_calls_nuc(nuc: Nuc, shell: str) -> None:
    result = nuc("completion", shell)
    assert result.exit_code == 0
    comments = [line for line in result.stdout.splitlines()[:2] if "to keep it: nuc completion " + shell in line]
    assert len(comments) == 1
    assert comments[0].startswith("#")
    assert f"_NUC_COMPLETE={shell}_complete" in result.stdout


def test_zsh_finds_its_mark_in_the_first_line(nuc: Nuc) -> None:
    assert nuc("completion", "zsh").stdout.startswith("#compdef nuc\n")


def test_commands_complete(complete) -> None:
    assert complete("re") == ["replay", "recover"]
    assert "validate" in complete("")


def test_configurations_and_scripts_complete_where_they_are_wanted(complete) -> None:
    assert complete("show", "lin_r") == ["lin_roach"]
    assert complete("run", "lin_roach", "--script", "experiment_a") == ["experiment_a"]
    assert complete("validate", "itb") == ["itb"]
    assert complete("diff", "lin_roach", "null_s") == ["null_stickmiddle"]


def test_own_configurations_complete_too(complete, tmp_path) -> None:
    (tmp_path / "configs" / "my_leg").mkdir(parents=True)
    (tmp_path / "configs" / "my_leg" / "joints.xml").write_text("")
    assert complete("run", "my") == ["my_leg"]


def test_names_complete_where_no_daemon_is(complete, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert "TC1_angle" in complete("ctl", "get", "TC1_a")
    assert complete("ctl", "set", "TC1_retLEV_C") == ["TC1_retLEV_CTang="]
    assert complete("ctl", "limp", "Femur-T") == ["Femur-Tibia"]


def test_options_complete(complete) -> None:
    assert complete("run", "--sc") == ["--script", "--scratch"]

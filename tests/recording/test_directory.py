"""A process may be killed at any moment: what it leaves must still be known for a bout's, so that it can go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.recording.directory import DirectoryInUse, make_directory


class Killed(BaseException):
    pass


def killed_at(monkeypatch: pytest.MonkeyPatch, calls: int, names: tuple[str, ...]) -> None:
    """Let the process die before its n-th change of a directory."""
    left = [calls]

    def dying(real):
        def call(*args, **how):
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return real(*args, **how)

        return call

    for name in names:
        monkeypatch.setattr(Path, name, dying(getattr(Path, name)))


@pytest.mark.parametrize(("over", "calls"), [*((False, n) for n in range(7)), *((True, n) for n in range(0, 20, 3))])
def test_whoever_dies_while_a_bout_begins_or_is_written_over_can_begin_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, over: bool, calls: int
) -> None:
    spec = BoutSpec("lin_roach", tmp_path / "bout", duration_s=0.02, overwrite=True)
    if over:
        run_bout(spec)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        killed_at(patched, calls, ("write_bytes", "unlink", "replace", "mkdir"))
        run_bout(spec)
    assert run_bout(spec).state == "complete"


@pytest.mark.parametrize("beside", [(), ("manifest.json.new",)])
def test_what_is_no_bout_is_left_alone(tmp_path: Path, beside: tuple[str, ...]) -> None:
    for name in ("StateData.txt", *beside):
        (tmp_path / name).write_text("mine")
    with pytest.raises(DirectoryInUse, match="not a bout"):
        make_directory(tmp_path, overwrite=True)
    assert (tmp_path / "StateData.txt").read_text() == "mine"

"""Files that grow by whole pieces, and scripts that are continued within a moment."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from nuc_engine.model.changes import Applied, Write
from nuc_engine.recording.growing import GrowingFile
from nuc_engine.recording.scriptlog import HdsoScriptLog
from tests.engine.models import one_joint


def test_what_lies_behind_the_size_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"wholetorn and more")
    file = GrowingFile(path, 5)
    assert path.read_bytes() == b"whole"
    file.write(b"!")
    file.close()
    assert path.read_bytes() == b"whole!"
    assert file.missing == 0


def test_what_is_missing_is_counted_and_the_file_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"short")
    file = GrowingFile(path, 9)
    file.write(b"!")
    assert (file.missing, file.size, path.read_bytes()) == (4, 6, b"short!")
    file.close()


def test_half_a_write_is_taken_back_and_may_be_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, real = GrowingFile(tmp_path / "x"), os.pwrite
    file.write(b"first.")
    with monkeypatch.context() as patch:

        def half(fd: int, data: memoryview, at: int) -> int:
            if len(data) <= 3:
                raise OSError(errno.ENOSPC, "full")
            return real(fd, data[: len(data) // 2], at)

        patch.setattr(os, "pwrite", half)
        with pytest.raises(OSError, match="full"):
            file.write(b"0123456789")
    assert (tmp_path / "x").read_bytes() == b"first."
    file.write(b"0123456789")
    file.close()
    assert (tmp_path / "x").read_bytes() == b"first.0123456789"


def test_a_script_continued_within_a_moment_does_not_tell_the_moment_again(tmp_path: Path) -> None:
    plan = one_joint()

    def applied(value: float) -> Applied:
        return Applied(5, 3, Write(plan.hdso("low").index, (value,)))

    def script(mark=None) -> HdsoScriptLog:
        return HdsoScriptLog(tmp_path / "Scriptlog.xml", plan, "Scriptlog", "leg", mark)

    log = script()
    log.applied(applied(1.0), "Ann")
    log.flush()
    mark = log.mark
    log.applied(applied(9.0), "Ann")
    log.flush()
    log.abandon()
    again = script(mark)
    again.applied(applied(2.0), "Ann")
    again.applied(applied(3.0), "Bob -- the second")
    assert again.close() == {"Scriptlog.xml": 3}
    lines = (tmp_path / "Scriptlog.xml").read_text().splitlines()
    comments = [line.strip() for line in lines if "<!-- cycle" in line]
    assert comments == ["<!-- cycle 3, by Ann -->", "<!-- cycle 3, by Bob - - the second -->"]
    assert [line.rpartition("</")[0].rpartition(">")[2] for line in lines if "hdsoMod" in line] == ["1", "2", "3"]

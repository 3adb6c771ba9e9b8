"""The lock before a servo's kept settings is open only while one of them is changed, whatever comes between."""

import pytest
from framed_servos import feetech
from settings_bench import settings_of

from drivers.clock import VirtualPace
from drivers.errors import BusError
from drivers.feetech.family import FAMILY as FEETECH
from drivers.framed.emulation.memory import RegisterMemory


def test_the_lock_is_open_only_meanwhile(written):
    host = feetech(1)
    settings = settings_of(FEETECH, host)
    written.clear()
    settings.write("position_offset", 7)
    kept = [pair for pair in written if pair[0] in ("eprom_lock", "position_offset")]
    assert kept == [("eprom_lock", 0), ("position_offset", 7), ("eprom_lock", 1)]
    written.clear()
    settings.write("acceleration", 7)
    assert "eprom_lock" not in dict(written)


def test_the_lock_is_closed_again_when_the_value_does_not_take(monkeypatch):
    host = feetech(1)
    put = RegisterMemory.__setitem__
    monkeypatch.setattr(RegisterMemory, "__setitem__", lambda self, n, v: n == "resolution" or put(self, n, v))
    with pytest.raises(BusError, match="resolution of the servo with id 1 stays 1 where 4 was written"):
        settings_of(FEETECH, host).write("resolution", 4)
    assert host.emulator.servos[0].memory["eprom_lock"] == 1


def test_the_lock_is_closed_when_somebody_presses_ctrl_c(monkeypatch):
    host = feetech(1)
    put = RegisterMemory.__setitem__

    def interrupted(self, name, value):
        put(self, name, value)
        if (name, value) == ("position_offset", 7):
            raise KeyboardInterrupt

    settings = settings_of(FEETECH, host)
    monkeypatch.setattr(RegisterMemory, "__setitem__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        settings.write("position_offset", 7)
    assert host.emulator.servos[0].memory["eprom_lock"] == 1


def test_a_lock_that_can_not_be_closed_is_said_and_what_is_kept_too(monkeypatch):
    host = feetech(1)
    settings = settings_of(FEETECH, host)
    put = RegisterMemory.__setitem__
    monkeypatch.setattr(
        RegisterMemory, "__setitem__", lambda self, n, v: (n, v) == ("eprom_lock", 1) or put(self, n, v)
    )
    with pytest.raises(BusError, match="position_offset of id 1 is 7 now, and kept; its eprom_lock may be open still"):
        settings.write("position_offset", 7)
    monkeypatch.undo()
    host = feetech(1)
    settings = settings_of(FEETECH, host)

    def die(self, name, value):
        put(self, name, value)
        if (name, value) == ("resolution", 4):
            host.emulator.unplug(0)

    monkeypatch.setattr(RegisterMemory, "__setitem__", die)
    with pytest.raises(BusError, match=r"whether its resolution is 4 is not known.*eprom_lock may be open still"):
        settings.write("resolution", 4)


@pytest.mark.parametrize("lost", ["id", "eprom_lock"])
def test_an_id_that_does_not_take_leaves_no_open_lock(monkeypatch, lost):
    host = feetech(1)
    memory = host.emulator.servos[0].memory
    put = RegisterMemory.__setitem__
    keeps = (lost, 9 if lost == "id" else 1)
    monkeypatch.setattr(RegisterMemory, "__setitem__", lambda self, n, v: (n, v) == keeps or put(self, n, v))
    pace = VirtualPace()
    with pytest.raises(BusError) as caught:
        FEETECH.write_id(host.port, pace, 1, 9)
    if lost == "id":
        assert memory["eprom_lock"] == 1
        assert "may be open" not in str(caught.value)
    else:
        assert "answers to 9 now, and keeps that; its eprom_lock may be open still" in str(caught.value)


def test_an_id_burnt_in_under_ctrl_c_leaves_no_open_lock(monkeypatch):
    host = feetech(1)
    put = RegisterMemory.__setitem__

    def interrupted(self, name, value):
        put(self, name, value)
        if (name, value) == ("id", 9):
            raise KeyboardInterrupt

    monkeypatch.setattr(RegisterMemory, "__setitem__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        FEETECH.write_id(host.port, VirtualPace(), 1, 9)
    assert host.emulator.servos[0].memory["eprom_lock"] == 1


def test_a_rate_that_does_not_take_leaves_no_open_lock(monkeypatch):
    host = feetech(1)
    put = RegisterMemory.__setitem__
    monkeypatch.setattr(RegisterMemory, "__setitem__", lambda self, n, v: n == "baud_rate" or put(self, n, v))
    with pytest.raises(BusError, match=r"did not take 500000 bit/s$"):
        FEETECH.write_baud(host.port, VirtualPace(), 1, 500_000)
    assert host.emulator.servos[0].memory["eprom_lock"] == 1

"""What several of these tests use."""

import pytest

from drivers.framed.emulation.memory import RegisterMemory


@pytest.fixture
def written(monkeypatch):
    """What emulated servos have set since, one (name, value) each time."""
    names = []
    put = RegisterMemory.__setitem__

    def noted(self, name, value):
        names.append((name, value))
        put(self, name, value)

    monkeypatch.setattr(RegisterMemory, "__setitem__", noted)
    return names

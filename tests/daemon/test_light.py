"""The processes beside the service stay light: what they load decides how fast a leg is safe again."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("numpy", "zmq", "lxml", "structlog", "click", "mujoco", "matplotlib", "asyncio", "multiprocessing")


@pytest.mark.parametrize("module", ["core", "guardian", "supervisor"])
def test_no_heavy_library_is_loaded(module):
    code = f"import nuc_engine.daemon.{module}, sys; print(*(n for n in {HEAVY!r} if n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_it_would_be_seen_if_one_were():
    code = f"import nuc_engine.bout.run, sys; print(*(n for n in {HEAVY!r} if n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "numpy" in done.stdout.split()

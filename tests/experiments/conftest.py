from __future__ import annotations

import pytest

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.load import load_bout
from nuc_engine.bout.run import BoutSpec, run_bout


@pytest.fixture(scope="session")
def roach_bout(tmp_path_factory: pytest.TempPathFactory) -> Bout:
    """Eight seconds of the roach leg."""
    out = tmp_path_factory.mktemp("roach") / "data"
    return load_bout(run_bout(BoutSpec("lin_roach", out, duration_s=8.0, seed=3)).folder)

from __future__ import annotations

import pytest

from tests.service.bench import bench


@pytest.fixture
def b(tmp_path):
    """A service that runs the small configuration."""
    with bench(tmp_path) as made:
        yield made.configured()


@pytest.fixture
def bare(tmp_path):
    """A service without any configuration."""
    with bench(tmp_path) as made:
        yield made

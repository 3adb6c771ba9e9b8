"""What tests of the main process share."""

from __future__ import annotations

import pytest

from nuc_engine.bout.run import prepare_bout
from tests.daemon.supervised import Bench


@pytest.fixture(scope="module")
def plans():
    return prepare_bout("lin_roach", None).plan, prepare_bout("lin_stickmiddle", None).plan


@pytest.fixture
def make(plans):
    benches = []

    def make_(**options):
        benches.append(Bench(plans, **options))
        return benches[-1]

    yield make_
    for bench in benches:
        bench.close()

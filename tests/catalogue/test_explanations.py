from nuc_engine.experiments.catalogue import EXPERIMENTS
from nuc_engine.experiments.catalogue.explanations import unused


def test_every_explanation_belongs_to_a_row():
    assert unused(EXPERIMENTS) == set()
    assert unused(()) != set()

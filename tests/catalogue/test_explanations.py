import json
from pathlib import Path

from nuc_engine.experiments.catalogue import EXPERIMENTS
from nuc_engine.experiments.catalogue.explanations import explained, unused


def test_every_explanation_belongs_to_a_row():
    assert unused(EXPERIMENTS) == set()
    assert unused(()) != set()


PAGES = Path(__file__).resolve().parents[2] / "docs/experiments"


def in_19(name: str, level: dict) -> int:
    count = level["numbers"][name]["middle"] * level["started"]
    assert level["started"] == 19
    return round(count)


def text_of(name: str) -> str:
    (experiment,) = [each for each in EXPERIMENTS if each.name == name]
    return " ".join(explained(experiment).rows[0].explanation.split())


def test_what_is_said_of_the_activations_is_what_their_experiment_gave():
    (row,) = json.loads((PAGES / "Eb/verdict.json").read_text())["rows"]
    levels = row["evidence"][0]["levels"]
    eb, ec, d1 = ([in_19(f"{name} as seen (share)", level) for level in levels] for name in ("Eb", "Ec", "D1"))
    assert eb[3:] == [19, 19]
    assert f"at the other levels in {min(eb[:3])} to {max(eb[:3])}." in text_of("Eb")
    assert "({}, {}, {}, {} and {} of 19)".format(*d1) in text_of("Eb")
    assert "({}, {} and {} of 19)".format(*(19 - count for count in ec[2:])) in text_of("Ec")
    own, _, half, *rest = (level["numbers"]["Ec: longest time without a ThC cycle (s)"]["highest"] for level in levels)
    assert f"up to {own:.1f} s" in text_of("Ec")
    assert f"({half:.1f} s at most; {max(rest):.1f} s from three quarters on)" in text_of("Ec")

"""Where entry rules of one module hold together: nowhere but where the sources' own rules do, and the texts say so."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from tests.configs.documents import SHIPPED, joint, shipped, state
from tests.configs.rule_values import overlaps

At = Mapping[str, float]
Where = Callable[[At], bool]

KNOWN: dict[tuple[str, str], tuple[Where, str]] = {
    **{
        (name, "Thorax-Coxa1"): (lambda at: at["FT_angle"] > 120 and at["CTr_angle"] < 70, "TC1_protractionDEP")
        for name in ("lin_roach", "mag_roach", "turn_roach", "nerve_roach")
    },
    ("null_roach", "Thorax-Coxa1"): (lambda at: at["FT_angle"] > 100 and at["CTr_angle"] < 70, "TC1_protractionDEP"),
    **{
        (name, "Coxa-Trochanter"): (lambda at: at["TC_angle"] < -20 and at["FT_angle"] < 75, "CTr_Depression")
        for name in ("lin_stickmiddle", "pc_stickmiddle", "null_stickmiddle")
    },
    **{
        (name, "Coxa-Trochanter"): (lambda at: at["TC_angle"] < -25 and at["FT_angle"] < 80, "CTr_Depression")
        for name in ("restricted_pc_stick", "restricted_null_stick")
    },
    ("pc_stickmiddle", "Femur-Tibia"): (lambda at: at["CTr_current"] < -1 and at["FT_angle"] < 80, "FT_Extension2"),
    ("restricted_pc_stick", "Femur-Tibia"): (
        lambda at: at["CTr_current"] < -1 and at["FT_angle"] < 80,
        "FT_Extension2",
    ),
}
"""Where rules overlap as printed, and the state whose rule explains it."""


@pytest.mark.parametrize("name", SHIPPED)
def test_rules_overlap_only_where_the_sources_make_them(name: str) -> None:
    m = shipped(name)
    for j in m.jointlist.joints:
        where, _ = KNOWN.get((name, j.name), (lambda at: False, ""))
        if len(j.states) > 1:
            assert [at for at, _ in overlaps(m, j) if not where(at)] == [], j.name


@pytest.mark.parametrize(("name", "joint_name"), sorted(KNOWN))
def test_known_overlaps_are_there_and_explained(name: str, joint_name: str) -> None:
    m = shipped(name)
    where, explained_at = KNOWN[name, joint_name]
    found = [at for at, _ in overlaps(m, joint(m, joint_name))]
    assert any(where(at) for at in found)
    assert "both rules hold" in (state(m, explained_at).rule.description or "")

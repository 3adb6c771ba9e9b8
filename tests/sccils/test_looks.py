"""Names that a reader takes for one and a program for two."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sccils_schemas.lookalikes import odd_letters, skeleton
from sccils_schemas.model import load_model
from sccils_schemas.names import did_you_mean
from tests.sccils.small import changed, line_of

J, P = "joints.xml", "parameters.xml"
ODD = {
    "Cyrillic among Latin": ("pro_l\u043ead", "U+043E CYRILLIC SMALL LETTER O"),
    "Greek capital among Latin": ("\u0391rm", "U+0391 GREEK CAPITAL LETTER ALPHA"),
    "IPA among Latin": ("FTan\u0261", "U+0261 LATIN SMALL LETTER SCRIPT G"),
    "invisible": ("pro\u200d_load", "U+200D ZERO WIDTH JOINER"),
    "of another width": ("pro_\uff4coad", "U+FF4C FULLWIDTH LATIN SMALL LETTER L"),
}


@pytest.mark.parametrize(("name", "words"), ODD.values(), ids=ODD.keys())
def test_letters_that_look_like_others_are_named(name: str, words: str) -> None:
    assert odd_letters(name) == words


@pytest.mark.parametrize(
    "name", ["pro_load", "\u03b8_angle", "\u043d\u043e\u0433\u0430", "\u03b1_motor", "K\u00f6rper", "\u80a2_1", "a.b-c"]
)
def test_names_in_any_script_are_good_where_nothing_is_mixed_up(name: str) -> None:
    assert odd_letters(name) == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("TC1", "TCl"),
        ("TCI", "TC1"),
        ("\u0430", "a"),
        ("O2", "02"),
        ("\uff41b", "ab"),
        ("a\u200cb", "ab"),
        ("\u03b1b", "ab"),
    ],
)
def test_names_that_look_the_same_have_one_skeleton(one: str, other: str) -> None:
    assert skeleton(one) == skeleton(other)


@given(
    st.text("abcdefghjkmnpqrstuvwxyz_-.2345678", max_size=8), st.text("abcdefghjkmnpqrstuvwxyz_-.2345678", max_size=8)
)
def test_names_that_look_different_have_not(one: str, other: str) -> None:
    assert (skeleton(one) == skeleton(other)) == (one == other)


def test_a_name_in_a_list_or_a_joint_list_is_warned_of_where_it_stands(tmp_path: Path) -> None:
    edits = ((P, 'name="pro_angle"', 'name="pr\u043e_angle"'), (J, '"Remotor"', '"Rem\u043etor"'))
    folder = changed(tmp_path, *edits)
    model, problems = load_model(folder)
    assert model is not None
    found = [(problem.file, problem.line) for problem in problems if "U+043E CYRILLIC" in problem.what]
    assert found == [
        (str(folder / J), line_of(folder / J, "Rem\u043etor")),
        (str(folder / P), line_of(folder / P, "pr\u043e_angle")),
    ]


def test_two_names_that_look_the_same_are_warned_of(tmp_path: Path) -> None:
    _, problems = load_model(changed(tmp_path, (P, 'name="pro_angle"', 'name="pro_Ioad"')))
    assert "name 'pro_Ioad' looks like 'pro_load', another name" in str(problems)


def test_who_is_meant_is_told_by_the_letter(tmp_path: Path) -> None:
    _, problems = load_model(changed(tmp_path, (J, "Coxa_current > ret_load", "C\u043exa_current > ret_load")))
    assert "('Coxa_current' only looks the same: U+043E CYRILLIC SMALL LETTER O)" in str(problems)
    assert did_you_mean("pro_lod", ["pro_load"]) == "did you mean 'pro_load'?"

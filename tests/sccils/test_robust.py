"""Whatever is done to a configuration, a script or plain bytes: a verdict, never an exception."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sccils_schemas.model import load_any, load_model
from sccils_schemas.parser import parse
from tests.sccils.small import NEWER, SMALL, small_model

MODEL = small_model()
NEW_MODEL, _ = load_model(NEWER)
FILES = {path.name: path.read_text() for path in sorted(SMALL.glob("*.xml"))}
NEW = FILES | {path.name: path.read_text() for path in sorted(NEWER.glob("*.xml"))}
WORDS = sorted({word for text in (*FILES.values(), *NEW.values()) for word in re.findall(r'"([^"\n]{1,40})"', text)})
EXTRA = [
    "",
    "-1",
    "-4",
    "0",
    "9999999999",
    "1e308",
    "nan",
    "162",
    "161|162",
    "y",
    "char",
    "llint",
    "none",
    "other",
    "HDSO",
]
PROPERTY = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@st.composite
def spoilt(draw: st.DrawFn, text: str) -> str:
    """The text with some attribute values, numbers or lines exchanged, doubled or dropped."""
    for _ in range(draw(st.integers(1, 6))):
        places = [
            match.span(1) for match in re.finditer(r'"([^"\n]*)"|>([^<>\n]+)<', text) if match.group(1) is not None
        ]
        start, end = places[draw(st.integers(0, len(places) - 1))]
        match draw(st.integers(0, 3)):
            case 0 | 1:
                text = text[:start] + draw(st.sampled_from(WORDS + EXTRA)) + text[end:]
            case 2:
                lines = text.split("\n")
                at = draw(st.integers(0, len(lines) - 1))
                lines[at : at + 1] = [lines[at]] * draw(st.sampled_from([0, 2]))
                text = "\n".join(lines)
            case _:
                text = re.sub(re.escape(text[start - 1 : end + 1]), '"161"', text)
        if '"' not in text:
            break
    return text


@PROPERTY
@given(data=st.data())
def test_a_spoilt_configuration_is_judged(data: st.DataObject, tmp_path: Path) -> None:
    files = data.draw(st.sampled_from([FILES, NEW]))
    for name in ("joints.xml", "parameters.xml", "sensors.xml"):
        text = files[name]
        spoil = data.draw(st.sampled_from([True, False, False]))
        (tmp_path / name).write_text(data.draw(spoilt(text)) if spoil else text)
    model, problems = load_model(tmp_path)
    assert (model is None) == bool(problems.errors)
    assert all(str(problem).startswith(str(tmp_path)) for problem in problems)
    assert all("\n" not in str(problem) and len(str(problem)) < 600 for problem in problems)


@pytest.mark.parametrize("name", ["script.xml", "commands.xml"])
@PROPERTY
@given(data=st.data())
def test_a_spoilt_script_is_judged(name: str, data: st.DataObject, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(data.draw(spoilt(data.draw(st.sampled_from([FILES, NEW]))[name])))
    for model in (MODEL, NEW_MODEL, None):
        document, problems = load_any(path, model)
        assert (document is None) == bool(problems.errors)


@PROPERTY
@given(st.binary(max_size=200) | st.text(alphabet="<>/!?[]-&;\"' \n=abx1", max_size=80).map(str.encode))
def test_any_bytes_are_judged(data: bytes) -> None:
    document, problems = parse(data)
    assert document is None or problems.ok
    assert document is not None or problems.errors

"""What docs/channel.md and the JSON Schema say of the messages is what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from nuc_engine.messages.described import schema, table
from nuc_engine.messages.errors import Refused
from nuc_engine.messages.requests import REQUESTS, Request

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "channel.md").read_text()


def test_the_table_of_methods_is_made_from_the_requests() -> None:
    assert table() in PAGE, "python -m nuc_engine.messages.described --table prints it"


def test_every_kind_of_refusal_has_a_row() -> None:
    kinds = (Refused.__doc__ or "").partition("Kinds: ")[2].replace("(role)", "").partition("(by")[0]
    assert "not_allowed" in kinds
    assert all(f"`{kind}`" in PAGE for kind in kinds.replace(",", " ").split())


def test_the_schema_has_every_method_with_its_bounds() -> None:
    found = schema()
    assert set(found["methods"]) == set(REQUESTS)
    run = found["$defs"]["RunRequest"]
    assert (run["additionalProperties"], run["properties"]["delay_s"]["minimum"]) == (False, 0)
    assert found["$defs"]["SetRequest"]["required"] == ["changes"]


@pytest.mark.parametrize("kind", REQUESTS.values())
def test_a_request_says_what_it_does(kind: type) -> None:
    assert kind.__doc__ not in (None, Request.__doc__)

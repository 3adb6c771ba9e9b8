"""Torque off for one who is logged in from elsewhere: requests as lines, past the service of this machine's daemon.

`nuc ctl off --relay` runs this at the other end of an ssh that stays open, so that a button elsewhere need not log in
when it is pressed, and knows each moment whether it would be heard. Lines are JSON:

    {"id": 1, "probe": true}      {"id": 1, "answer": {"heard_by": ..., "torque": ..., "latched": ...}}
    {"id": 2, "off": "why"}       {"id": 2, "answer": {"torque": ..., "unconfirmed": [...], ...}}
    anything else                 {"id": ..., "error": "..."}

It ends with its input.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any, cast

from nuc_engine.client.offpath import probe_off_in, take_torque_off_in

PROBE_S = 0.4
_LONGEST = 4096


def relay(folder: Path, lines: Iterable[str], write: Callable[[str], object]) -> None:
    """Do what each line asks for at the daemon of a folder; `write` takes an answer at a time, by any thread."""
    turn = Lock()

    def tell(**content: Any) -> None:
        with turn:
            write(json.dumps(content) + "\n")

    def answer(number: object, found: Mapping[str, Any] | str) -> None:
        if isinstance(found, str):
            tell(id=number, error=found)
        else:
            tell(id=number, answer=dict(found))

    def probe(number: object) -> None:
        answer(number, probe_off_in(folder, PROBE_S))

    def off(number: object, why: str) -> None:
        answer(number, take_torque_off_in([folder], why)[folder])

    tell(relay=str(folder))
    # No torque off waits for a question that nobody answers.
    with ThreadPoolExecutor(1) as asking, ThreadPoolExecutor(1) as taking:
        for line in lines:
            asked = _read(line)
            match asked:
                case {"off": str(why)}:
                    taking.submit(off, asked.get("id"), why)
                case {"probe": True}:
                    asking.submit(probe, asked.get("id"))
                case _:
                    tell(id=asked.get("id"), error="expected probe or off")


def _read(line: str) -> Mapping[str, Any]:
    try:
        asked: object = json.loads(line) if len(line) <= _LONGEST else None
    except (ValueError, RecursionError):
        asked = None
    return cast(Mapping[str, Any], asked) if isinstance(asked, dict) else {}

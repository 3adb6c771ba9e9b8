"""The parts of docs/packet_bus.md that are made from the code; run as a program, it writes them there."""

from __future__ import annotations

import re
from pathlib import Path

from drivers.framed.servo_state import (
    DROPS,
    MOVES,
    Contact,
    DriveSettings,
    Health,
    Readiness,
    ReplyTiming,
    ServoEvent,
    Torque,
)

PAGE = Path(__file__).parents[2] / "docs" / "packet_bus.md"
PARTS = (Readiness, Torque, Contact, DriveSettings, Health, ReplyTiming)


def words(part: type) -> str:
    """Return a class's name as words: `ReplyTiming` is "reply timing"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", part.__name__).lower()


def cell(event: ServoEvent, part: type) -> str:
    """Say what an event does to one part of a state: where it comes from, where it goes."""
    sources: dict[str, list[str]] = {}
    for before, after in MOVES[event].items():
        if isinstance(before, part) and before is not after:
            sources.setdefault(after.name, []).append(before.name)
    return "; ".join(f"{', '.join(befores)} → {after}" for after, befores in sources.items())


def events() -> str:
    heads = " | ".join(words(part) for part in PARTS)
    lines = [f"| event | {heads} | dropped |", "|---" * (len(PARTS) + 2) + "|"]
    for event in ServoEvent:
        cells = " | ".join(cell(event, part) for part in PARTS)
        lines.append(f"| {event.name}: {event.value} | {cells} | {'goal, set-up' if event in DROPS else ''} |")
    return "\n".join(lines)


def parts() -> str:
    lines = ["| part | value | what is known |", "|---|---|---|"]
    for part in PARTS:
        for k, value in enumerate(part):
            lines.append(f"| {words(part) if k == 0 else ''} | {value.name} | {value.value} |")
    return "\n".join(lines)


def diagram() -> str:
    """Draw the events that change how far a servo is from being driven, as Mermaid has it."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for event in ServoEvent:
        for before, after in MOVES[event].items():
            if isinstance(before, Readiness) and before is not after:
                arrows.setdefault((before.name, after.name), []).append(event.name)
    lines = [f"    {before} --> {after}: {', '.join(names)}" for (before, after), names in arrows.items()]
    return "\n".join(["```mermaid", "stateDiagram-v2", f"    [*] --> {next(iter(Readiness)).name}", *lines, "```"])


MADE = {"diagram": diagram, "parts": parts, "events": events}


def filled(page: str) -> str:
    """Return the page with its made parts made anew."""
    for name, make in MADE.items():
        begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
        head, rest = page.split(begin)
        page = head + begin + make() + end + rest.split(end)[1]
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")

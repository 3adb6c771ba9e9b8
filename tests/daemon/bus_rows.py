"""What becomes of the leg when its bus fails, for servos of every family: the table of docs/faults.md, as data.

`tests/daemon/test_bus_rows.py` makes each of it happen beside a core on paper, `tests/docs/test_faults.py` compares the
page with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Form:
    """Servos, and how they are spoken to.

    `model` is empty for the configuration as it is, `messages` the bytes of a cycle's requests and replies.
    """

    name: str
    model: str
    url: str
    messages: tuple[int, ...]

    def later(self, late_ms: float) -> Form:
        """Return the same on a line whose replies may be so late."""
        glue = "&" if "?" in self.url else "?"
        return replace(self, url=f"{self.url}{glue}late_us={late_ms * 1000:.0f}")

    def truncated(self, share: float) -> float:
        """Return how often a message must lose its end (all lengths alike) for that share of all bytes to be lost."""
        return share * sum(self.messages) / sum((size + 1) / 2 for size in self.messages)

    def flipped(self, share: float) -> float:
        """Return how often a bit must turn over in a message for one to do so in that share of all bytes."""
        return share * sum(self.messages) / len(self.messages)


FORMS = (
    Form("AI motor", "", "emulated:", (4, 2) * 4),
    Form("wCK", "wCK-1108", "emulated:?wck=1", (4, 2) * 4),
    Form("wCK, ten bits", "wCK-1108-10bit", "emulated:?ten_bit=1", (8, 2, 6, 2) * 4),
    Form("Dynamixel", "XL430-W250", "emulated:dynamixel?baud=1000000", (52, 21, 21, 21, 21)),
    Form("STS3215", "STS3215", "emulated:feetech", (32, 12, 12, 12, 12)),
)
"""Dynamixels and STS at 1,000,000 bit/s, the others at 57,600."""


@dataclass(frozen=True)
class End:
    """The bout ends: by which fault, how soon (ms, rounded up) after the bus failed; 0 is at once."""

    fault: str
    within_ms: int = 0

    def __str__(self) -> str:
        return f"`{self.fault}` " + (f"within {self.within_ms} ms" if self.within_ms else "at once")


GOES_ON, REFUSED = "goes on", "`run` is refused"

SILENT, LOST = "motor_silent", "bus_lost"
HELD_UP = End("bus_held_up", 320)
END_40, END_70 = End("bus_silent", 50), End("bus_silent", 90)

ROWS: dict[str, tuple[End | str, ...]] = {
    "silent": (End(SILENT, 110), End(SILENT, 110), End(SILENT, 100), End(SILENT, 100), End(SILENT, 110)),
    "held up for 400 ms, and everything comes at once afterwards": (
        End(SILENT, 100), End(SILENT, 100), End(SILENT, 110), End(SILENT, 100), End(SILENT, 110),
    ),
    "replies late by 15 ms, D being 40 ms, for 150 ms": (GOES_ON,) * 5,
    "replies late by 15 ms, D being 40 ms, for good": (HELD_UP,) * 5,
    "adapter unplugged, and back": (End(LOST),) * 5,
    "one of two buses gone": (End(LOST),) * 5,
    "a servo babbles": (End(SILENT, 90), End(SILENT, 90), End(SILENT, 80), End(SILENT, 100), End(SILENT, 110)),
    "supply of all servos lost for 40 ms": (END_40, END_40, GOES_ON, END_40, END_40),
    "supply of all servos lost for 70 ms": (END_70,) * 5,
    "supply of all servos lost for 10 ms": (GOES_ON,) * 5,
    "a position jumps by 60 degrees": (End(SILENT, 40), End(SILENT, 40), GOES_ON, GOES_ON, GOES_ON),
    "1 % of all messages lost, and one bit flipped in 1 % of them": (GOES_ON,) * 5,
    "1 % of all bytes lost": (GOES_ON,) * 5,
    "one bit flipped in 1 % of all bytes": (GOES_ON, GOES_ON, GOES_ON, End(SILENT, 3000), End(SILENT, 3000)),
    "a servo absent from the start": (REFUSED,) * 5,
    "a servo lost in a bout": (End(SILENT, 100),) * 5,
    "a servo stuck": (GOES_ON,) * 5,
    "a servo at another id in a bout": (End(SILENT, 100),) * 5,
}  # fmt: skip
"""What becomes of the leg, for each of `FORMS` in their order."""

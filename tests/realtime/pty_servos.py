"""Emulated servos of any family behind a real pseudo-terminal, as a process of their own."""

from __future__ import annotations

from pathlib import Path

from nuc_engine.configurations.adapt import adapt, write_adapted
from tests.realtime.daemon import Leg

IDS = (0, 1, 2, 3)


def configuration(family: str, model: str, folder: Path) -> Path:
    """Return a configuration whose four motors are of `model`, with ids 0 to 3."""
    if family == "aimotor":
        return Path("lin_roach")
    place = folder / f"roach_{model.lower().replace('-', '_')}"
    if not place.exists():
        write_adapted(adapt("lin_roach", model, IDS), place)
    return place


class Servos(Leg):
    """`nuc emulate` with four servos of one model; `line` are options of the emulated bus."""

    def __init__(self, family: str, model: str, folder: Path, *, baud: int, plant: str = "loopback", **line: float):
        self.family, self.model, self.baud = family, model, baud
        words = ["--family", family, "--baud", str(baud)]
        for name, value in line.items():
            words += ["--option", f"{name}={value:g}"]
        super().__init__(folder, str(configuration(family, model, folder)), *words, plant=plant)

    @property
    def url(self) -> str:
        return f"{self.family}://{self.pty}?baud={self.baud}"

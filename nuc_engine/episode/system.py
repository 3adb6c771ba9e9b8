"""What a system under control is to the loop: functions of plain tuples of numbers, and how their tables are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nuc_engine.episode.fields import Fields

Numbers = tuple[float, ...]
"""A state, a reference or a control: as many numbers as the system has names for."""

Step = Callable[[Numbers, Numbers, float], Numbers]
"""Dynamics: the next state from state, control and dt in seconds."""

Law = Callable[[Numbers, Numbers], Numbers]
"""A controller: the control from state and reference."""

Program = Callable[[float], Numbers]
"""A reference program: the reference at t seconds."""

Stop = Callable[[Numbers], str]
"""A stop condition: why a state ends the episode, or "" where it does not."""


@dataclass(frozen=True, slots=True)
class Pilot:
    """What flies, walks or drives in one episode: its law, and whether the last control was limited, where it can be.

    A law with memory is made anew for every episode. `marks` is the column of the log that `limited` fills, where that
    says something else of a step.
    """

    law: Law
    limited: Callable[[], bool] | None = None
    marks: str = "limited"


@dataclass(frozen=True, slots=True)
class ControlledSystem:
    """The columns of a system and the readers of its tables.

    `state`, `reference` and `control` are names with units, `x_m`. `read_initial`, `read_dynamics`, `read_controller`
    and `read_reference` take a table and return state, dynamics, a maker of pilots, and program; controllers are told
    dt in seconds. `read_stop` returns the conditions that end an episode.
    """

    state: tuple[str, ...]
    reference: tuple[str, ...]
    control: tuple[str, ...]
    read_initial: Callable[[Fields], Numbers]
    read_dynamics: Callable[[Fields], Step]
    read_controller: Callable[[Fields, float], Callable[[], Pilot]]
    read_reference: Callable[[Fields], Program]
    read_stop: Callable[[Fields], tuple[Stop, ...]]


Systems = Mapping[str, ControlledSystem]
"""Systems by the name that a RunConfig has for them."""

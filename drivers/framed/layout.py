"""What a family of servos with registers tells the bus about itself, as data.

A family gives one `Layout`, and in it a `Kind` for each model. Registers are named as in `registers`; where one lies is
in the model's table.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from drivers.framed.packet import Dialect, Packet
from drivers.framed.registers import Register, RegisterTable
from drivers.servo import LEVEL_SHARE, ServoModel

TORQUE, GOAL, POSITION, GAIN = "torque_enable", "goal_position", "present_position", "position_p_gain"
MODEL, ID, BAUD = "model_number", "id", "baud_rate"
"""Registers that every table has, at the same place for all models of a family."""


@dataclass(frozen=True, slots=True)
class FastRead:
    """Reading many servos that answer in one packet: `head` bytes, and of each servo `each` bytes beside its data.

    `split` takes that packet, the bytes of data of each servo and how many there are, and returns their statuses; none
    when the packet is no such reply.
    """

    instruction: int
    head: int
    each: int
    split: Callable[[Packet, int, int], list[Packet]]


@dataclass(frozen=True, slots=True)
class Meaning:
    """A setting that decides what positions, goals and torque of a servo mean, and that is never written.

    The bits of `mask` must be those of `value`; `otherwise` says in words what they do when they are not. `same` are
    values that are as good as `value`, and so is the servo's own id where `own_id`. `scale` is whether a joint's
    calibration may have been made with another one.
    """

    register: str
    otherwise: str
    value: int = 0
    mask: int = -1
    same: tuple[int, ...] = ()
    own_id: bool = False
    scale: bool = True

    def expected(self, found: int, bus_id: int = -1) -> int:
        """Return what the register of servo `bus_id` should hold where it holds `found`: the same if all is well."""
        if found in self.same or (self.own_id and found == bus_id):
            return found
        return (found & ~self.mask) | self.value


@dataclass(frozen=True, slots=True)
class FixedRegister:
    """A register whose bits in `mask` nobody changes from here, and why."""

    register: str
    why: str
    mask: int = -1


@dataclass(frozen=True, slots=True)
class ModelLayout:
    """One model as the bus uses it.

    `settings` are registers and the values they must have before the servo is driven, in the order they are set; those
    in EEPROM are written only where they differ, all are read back. `meanings` are looked at before that: a servo on
    which one is otherwise is refused and left as it is, since its calibration may have been made with it.

    `load` is the register of the load reading, within the layout's block. `cap` is the register that bounds the torque
    and its value at the torque of `model` at stall, `cap_limit` the register that bounds that ("" for none), `drive`
    another one that bounds the torque for good, and its value at the whole drive, `drive_goal` the one that takes that
    back until the supply goes ("" for none): another program may have left less in it. `limits` are the registers of
    the lowest and the highest position the servo takes ("" where the mode it is set to has none), `unlimited` what they
    hold where they bound nothing, None if they always do.
    """

    model: ServoModel
    table: RegisterTable
    settings: tuple[tuple[str, int], ...]
    load: str
    cap: tuple[str, int]
    cap_limit: str = ""
    limits: tuple[str, str] = ("", "")
    meanings: tuple[Meaning, ...] = ()
    drive: tuple[str, int] = ("", 0)
    drive_goal: str = ""
    unlimited: tuple[int, int] | None = None

    def share(self, level: int, limit_n_m: float) -> float:
        """Return the share of the torque at stall at a level; a `limit_n_m` of 0 is none."""
        stall = self.model.stall_torque_n_m
        return LEVEL_SHARE[level] * (min(limit_n_m, stall) / stall if limit_n_m > 0.0 else 1.0)


@dataclass(frozen=True, slots=True)
class FamilyLayout:
    """One family as the bus uses it.

    `kinds` are its models by name. `block` is (first address, bytes) of what is read of each servo in each cycle: load
    and position must lie in it. `bauds` are rates by code.

    Of a status's error byte, bits in `alert_mask` say that something is wrong with the servo itself, and bits in
    `refusal_mask` that it did not do what it was told; `refusals` has words for the latter by number. `alert_register`
    says what is wrong, bit by bit with the words in `alerts`.

    `watchdog` is the register of the silence after which a servo stops, in `watchdog_step_ns`, with -1 for one that
    did; "" where there is none. `lock` is the register that must be 0 for settings to be kept, and is 1 otherwise: then
    what is written to them counts until the supply goes. "" where settings are kept as soon as torque is off.

    `second_id` is the register of an id beside its own whose writes a servo obeys without a word, "" where there is
    none; what is no id there is none either.

    `fixed` is what the bench leaves alone. `line` is the URL of the line it is used on, for what people are told.

    A servo that heard a wrong length waits for bytes that were never sent, and swallows what is said to it. After an
    exchange without an answer the bus leaves the line silent for `byte_gap_ns`, the time after which servos give that
    up; or gives them `padding`, bytes that end the wait and can not be taken for a packet.

    `ping_data` is how many bytes of data a ping is answered with, `ping_slot_ns` how long each id has at most, beside
    the time of its status, to answer a ping for all; 0 where such a ping is of no use.
    """

    family: str
    dialect: Dialect
    kinds: Mapping[str, ModelLayout]
    block: tuple[int, int]
    bauds: Mapping[int, int]
    alert_mask: int
    refusal_mask: int
    alert_register: str
    alerts: Mapping[int, str]
    refusals: Mapping[int, str] = field(default_factory=dict[int, str])
    watchdog: str = ""
    watchdog_step_ns: int = 1
    lock: str = ""
    second_id: str = ""
    fixed: tuple[FixedRegister, ...] = ()
    line: str = "URL"
    fast: FastRead | None = None
    byte_gap_ns: int = 0
    padding: bytes = b""
    ping_data: int = 0
    ping_slot_ns: int = 0

    @property
    def first(self) -> ModelLayout:
        """Any of the kinds: for registers that all have at the same place."""
        return next(iter(self.kinds.values()))

    def register(self, name: str) -> Register:
        """Return a register that all models have at the same place. Raises KeyError."""
        return self.first.table[name]

    def kind_of(self, number: int) -> ModelLayout | None:
        """Return the first kind whose servos say they are model `number`, None if there is none."""
        return next((kind for kind in self.kinds.values() if kind.model.number == number), None)

    def command(self, bus_id: int, register: str, value: int) -> str:
        """Return the command that sets a register of a servo on this line."""
        return f"nuc bus set {shlex.quote(self.line)} {bus_id} {register} {value}"

    def explain(self, error: int) -> str:
        """Say in words what a status's error byte means for the instruction."""
        code = error & self.refusal_mask
        return self.refusals.get(code, f"error {code}")

    def explain_alert(self, bits: int) -> str:
        """Say in words what the alert register says."""
        words = [self.alerts.get(bit, f"bit {bit}") for bit in range(bits.bit_length()) if bits >> bit & 1]
        return ", ".join(words)


# What a servo's own settings leave of its torque and of its positions: one rule for the bus, which refuses a servo to
# which they leave too little, and for the bench, which warns before it is made one.


def torque_limits(kind: ModelLayout) -> tuple[tuple[str, int], ...]:
    """Return the settings that bound the torque for good, each with its value at all the torque there is."""
    return tuple((name, full) for name, full in ((kind.cap_limit, kind.cap[1]), kind.drive) if name)


def without_torque(kind: ModelLayout, name: str, found: int, limit_n_m: float = 0.0) -> str:
    """Say why a servo with `found` in a setting of its torque is not driven, "" where the weakest level asks for less.

    `limit_n_m` is the torque limit of its joint, 0 for none. "" for other settings too.
    """
    full = dict(torque_limits(kind)).get(name)
    if full is None:
        return ""
    weakest = len(LEVEL_SHARE) - 1
    least = max(round(kind.share(weakest, limit_n_m) * full), 1)
    if found >= least:
        return ""
    left = "no torque at all" if not found else "less torque than it is told at any level"
    return f"which leaves it {left}; expected {least} (torque level {weakest}) to {kind.table[name].high}"


def positions_within(kind: ModelLayout, least: int, most: int) -> tuple[int, int]:
    """Return the lowest and the highest position that limits set in the servo leave of its model's."""
    low, high = kind.model.positions
    return (low, high) if (least, most) == kind.unlimited else (max(low, least), min(high, most))


def without_place(kind: ModelLayout, least: int, most: int) -> str:
    """Say why a servo with these limits of its positions is not driven: what it takes; "" for more than one."""
    if least > most:
        return f"takes positions from {least} to {most}: expected the lower one first"
    low, high = positions_within(kind, least, most)
    if low < high:
        return ""
    some = f"no position but {low}" if low == high else "no position"
    return f"takes {some} of {kind.model.positions[0]} to {kind.model.positions[1]}"

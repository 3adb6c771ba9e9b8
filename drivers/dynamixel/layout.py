"""Dynamixel X servos as the bus uses them (see `drivers.framed.layout`).

Before it is driven a servo is set to current-based positions where it has them (the goal current then bounds its
torque), else to positions (the goal PWM bounds its drive); everything that would come between a goal and its torque is
taken out: integral and feed-forward gains, profiles, the delay before its answers. What would reverse its positions,
shift them, turn its torque on unasked or let it do what another one is told is looked at, and left to the servo's
owner.
"""

from __future__ import annotations

from typing import Final

from drivers.dynamixel.codec import (
    BULK_READ,
    BULK_WRITE,
    DIALECT,
    FAST_EACH_BYTES,
    FAST_HEAD_BYTES,
    FAST_SYNC_READ,
    split_fast,
)
from drivers.dynamixel.table import (
    BAUD_CODES,
    BYTE_GAP_NS,
    CURRENT_BASED_POSITION,
    FULL_PWM,
    MODELS,
    POSITION,
    TABLES,
    WATCHDOG_STEP_NS,
)
from drivers.framed.layout import FamilyLayout, FastRead, FixedRegister, Meaning, ModelLayout
from drivers.framed.packet import PING, READ, REBOOT, SYNC_READ, SYNC_WRITE, WRITE

ALERT: Final = 0x80
"""The error byte's bit for a hardware error; the rest is the number of what is wrong with the instruction."""

INSTRUCTIONS: Final = {
    PING: "ping",
    READ: "read",
    WRITE: "write",
    0x04: "write at action",
    0x05: "action",
    0x06: "factory settings",
    REBOOT: "reboot",
    0x10: "clear",
    0x20: "backup",
    SYNC_READ: "sync read",
    SYNC_WRITE: "sync write",
    FAST_SYNC_READ: "fast sync read",
    BULK_READ: "bulk read",
    BULK_WRITE: "bulk write",
    0x9A: "fast bulk read",
}
"""Names of the instructions, for people."""

_REFUSALS: Final = {
    1: "the instruction failed",
    2: "unknown instruction",
    3: "wrong CRC",
    4: "out of the register's range",
    5: "wrong length",
    6: "beyond a limit that is set in the servo",
    7: "the register can not be written now",
}

_ALERTS: Final = {0: "input voltage", 2: "overheating", 3: "encoder", 4: "electrical shock", 5: "overload"}

# In the order they are set: a change of operating mode puts gains and profiles back.
_ALWAYS: Final = (("status_level", 2), ("return_delay", 0))
_AFTER: Final = (
    ("position_i_gain", 0),
    ("feedforward_2nd_gain", 0),
    ("feedforward_1st_gain", 0),
    ("profile_acceleration", 0),
    ("profile_velocity", 0),
)

# Bit 2 of the drive mode counts profiles in time: as they are set to 0 there is none in either unit.
_MEANINGS: Final = (
    Meaning("drive_mode", "bit 0 reverses positions, bit 3 turns the torque on with every goal", mask=0b1001),
    Meaning("homing_offset", "positions are shifted by it"),
    Meaning(
        "secondary_id",
        "it does what the servo of that id is told, and says nothing of it",
        value=255,
        same=(253, 254),
        own_id=True,
        scale=False,
    ),
    Meaning(
        "startup_configuration",
        "bit 0 turns the torque on at power-up, bit 1 brings back gains and profiles somebody kept",
        mask=0b11,
        scale=False,
    ),
)

_FIXED: Final = (
    FixedRegister("protocol", "a servo that speaks another one does not hear the commands here any more"),
    FixedRegister("status_level", "below 1 it could no longer be read; whoever drives the servo sets it to 2"),
)


def _kind(name: str) -> ModelLayout:
    model, table = MODELS[name], TABLES[name]
    if "present_current" in table:
        # At the stall torque.
        counts = round(model.stall_torque_n_m / model.load_n_m)
        mode, cap, load, limits = CURRENT_BASED_POSITION, "current", "present_current", ("", "")
        drive, drive_goal = ("pwm_limit", FULL_PWM), "goal_pwm"
    else:
        counts = FULL_PWM
        mode, cap, load, limits = POSITION, "pwm", "present_load", ("min_position", "max_position")
        drive, drive_goal = ("", 0), ""
    settings = (*_ALWAYS, ("operating_mode", mode), *_AFTER)
    return ModelLayout(
        model=model,
        table=table,
        settings=settings,
        load=load,
        cap=(f"goal_{cap}", counts),
        cap_limit=f"{cap}_limit",
        limits=limits,
        meanings=_MEANINGS,
        drive=drive,
        drive_goal=drive_goal,
    )


LAYOUT: Final = FamilyLayout(
    family="dynamixel",
    dialect=DIALECT,
    kinds={name: _kind(name) for name in MODELS},
    # Current or load, velocity, position.
    block=(126, 10),
    bauds=BAUD_CODES,
    alert_mask=ALERT,
    refusal_mask=ALERT - 1,
    alert_register="hardware_error",
    alerts=_ALERTS,
    refusals=_REFUSALS,
    watchdog="bus_watchdog",
    watchdog_step_ns=WATCHDOG_STEP_NS,
    second_id="secondary_id",
    fixed=_FIXED,
    fast=FastRead(FAST_SYNC_READ, FAST_HEAD_BYTES, FAST_EACH_BYTES, split_fast),
    byte_gap_ns=BYTE_GAP_NS,
    # Model and firmware; the patience is that of the maker's SDK.
    ping_data=3,
    ping_slot_ns=3_000_000,
)

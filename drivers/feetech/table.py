"""What is known of Feetech's STS3215 as data: registers, models, rates, units.

Sources: the maker's memory table of the STS series and protocol page (ftservo/ftservo-wiki), the maker's figures for
the STS3215-C001 (7.4 V) and -C018 (12 V). No figure was measured here; what nobody confirms is marked as assumed.
"""

from __future__ import annotations

import math
from typing import Final

from drivers.framed.registers import Register, RegisterTable
from drivers.servo import ServoModel

MODEL_NUMBER: Final = 777
"""What an STS3215 of either voltage says it is; the supply cannot be told from it."""

TICK_DEG: Final = 360.0 / 4096.0
"""Degrees of shaft per position tick."""

SPEED_DEG_S: Final = TICK_DEG
"""Degrees per second in a count of speed where bit 2 of `phase` is set: one tick per second (0.0146 rpm)."""

COARSE_SPEED_DEG_S: Final = 50.0 * TICK_DEG
"""The same where it is not: 0.732 rpm."""

CURRENT_A: Final = 0.0065
"""Ampere in a count of current."""

FULL_DRIVE: Final = 1000
"""Counts of `present_load`, `torque_limit` and `max_torque` that stand for the whole drive (0.1 %)."""

DEFAULT_BAUD: Final = 1_000_000
BAUD_CODES: Final = {
    0: 1_000_000,
    1: 500_000,
    2: 250_000,
    3: 128_000,
    4: 115_200,
    5: 76_800,
    6: 57_600,
    7: 38_400,
}
"""The maker's codes. Other people's tables differ from 5 on."""

OVERLOAD_BIT: Final = 5
"""In `unload_mask`, `servo_status` and the error byte of a status: the load."""

PHASE_FINE_SPEED: Final = 1 << 2
"""In `phase`: speeds are counted in ticks per second."""

PERSISTENT, VOLATILE = 0, 1
"""Values of `eprom_lock`: what is written to settings from now on outlasts the supply, or does not."""

DEFAULT_TIMEOUT_NS: Final = 4_000_000
"""How much later than its wire time a reply may be complete; most of it is for a USB adapter with its latency timer at
1 ms. Assumed."""

DEFAULT_TURNAROUND_NS: Final = 40_000
"""What an emulated servo needs from the end of a request to its answer. Assumed."""

LONGEST_PACKET: Final = 259
"""Bytes of the longest packet that a servo waits for: all that its length byte can announce. Assumed: how much a servo
really takes is not printed."""

BYTE_GAP_NS: Final = 100_000_000
"""The silence within a packet after which a servo waits for a header again. Assumed: the maker does not say whether
there is such a time; this is that of Dynamixel's Protocol 1.0, whose packets look the same (e-manual, "Byte to Byte
Time")."""

V_MAX_DEG_S: Final = 600.0
"""The fastest a shaft is believed to turn, deg/s: nearly twice the no-load speed at 7.4 V (312 deg/s), because a leg
can also be pushed. Assumed."""

_SIGN_16: Final = 15
_BYTE = 254


def _setting(name: str, address: int, default: int, low: int = 0, high: int = _BYTE, unit: str = "") -> Register:
    return Register(name, address, 1, "eeprom", default, low, high, unit=unit)


# `unload_mask`, `min_start_torque`, `max_voltage` and the gains are as servos are said to be delivered: assumed.
STS3215: Final = RegisterTable(
    (
        Register("firmware_major", 0, 1, "read", 3),
        Register("firmware_minor", 1, 1, "read", 10),
        Register("big_endian", 2, 1, "read", 0),
        Register("model_number", 3, 2, "read", MODEL_NUMBER),
        _setting("id", 5, 1, 0, 253),
        _setting("baud_rate", 6, 0, 0, 7, "code"),
        _setting("return_delay", 7, 0, 0, 254, "2 us; older tables, reserved in the present one"),
        _setting("status_level", 8, 1, 0, 1, "0 ping and read, 1 all"),
        # The maker's range of the highest position begins at 1, and its remark says 0: both are 0 for several turns.
        Register("min_position", 9, 2, "eeprom", 0, 0, 4094, unit="tick"),
        Register("max_position", 11, 2, "eeprom", 4095, 0, 4095, unit="tick"),
        _setting("max_temperature", 13, 70, 0, 100, "deg C"),
        _setting("max_voltage", 14, 140, unit="0.1 V"),
        _setting("min_voltage", 15, 40, unit="0.1 V"),
        Register("max_torque", 16, 2, "eeprom", FULL_DRIVE, 0, FULL_DRIVE, unit="0.1 %"),
        _setting("phase", 18, 12, unit="bits: 2 fine speed, 3 speed 0 is the highest, 4 turns, 7 feedback reversed"),
        _setting("unload_mask", 19, 44, unit="bits: 0 voltage, 1 encoder, 2 heat, 3 current, 5 load"),
        _setting("alarm_mask", 20, 47, unit="bits as unload_mask"),
        _setting("position_p_gain", 21, 32, unit="1/4"),
        _setting("position_d_gain", 22, 32, unit="1/8"),
        _setting("position_i_gain", 23, 0),
        _setting("min_start_torque", 24, 16, unit="0.1 %"),
        _setting("integral_limit", 25, 0),
        _setting("dead_band_plus", 26, 1, 0, 16, "tick"),
        _setting("dead_band_minus", 27, 1, 0, 16, "tick"),
        Register("protection_current", 28, 2, "eeprom", 511, 0, 2047, unit="6.5 mA"),
        _setting("resolution", 30, 1, 1, 128),
        Register("position_offset", 31, 2, "eeprom", 0, -2047, 2047, 11, "tick"),
        _setting("operating_mode", 33, 0, 0, 3, "0 position, 1 speed, 2 PWM, 3 step"),
        _setting("hold_torque", 34, 20, 0, 100, unit="1 %"),
        _setting("overload_time", 35, 200, unit="10 ms"),
        _setting("overload_torque", 36, 80, 0, 100, unit="1 %"),
        _setting("speed_p_gain", 37, 10),
        _setting("overcurrent_time", 38, 200, unit="10 ms"),
        _setting("speed_i_gain", 39, 10),
        Register("torque_enable", 40, 1, "ram", 0, 0, 128, unit="0 off, 1 on, 2 damping, 128 here is 2048"),
        Register("acceleration", 41, 1, "ram", 0, 0, _BYTE, unit="8.7 deg/s2, 0 the highest"),
        Register("goal_position", 42, 2, "ram", 0, -32767, 32767, _SIGN_16, "tick"),
        Register("goal_pwm", 44, 2, "ram", 0, -1000, 1000, 10, "0.1 %"),
        Register("goal_velocity", 46, 2, "ram", 0, -32767, 32767, _SIGN_16, "tick/s or 50 tick/s; 0 the highest"),
        Register("torque_limit", 48, 2, "ram", FULL_DRIVE, 0, FULL_DRIVE, unit="0.1 %"),
        Register("eprom_lock", 55, 1, "ram", VOLATILE, 0, 1, unit="0 settings persist, 1 they do not"),
        Register("present_position", 56, 2, "read", sign_bit=_SIGN_16, unit="tick"),
        Register("present_velocity", 58, 2, "read", sign_bit=_SIGN_16, unit="as goal_velocity"),
        Register("present_load", 60, 2, "read", sign_bit=10, unit="0.1 % duty"),
        Register("present_voltage", 62, 1, "read", unit="0.1 V"),
        Register("present_temperature", 63, 1, "read", unit="deg C"),
        Register("action_pending", 64, 1, "read"),
        Register("servo_status", 65, 1, "read", unit="bits as unload_mask"),
        Register("moving", 66, 1, "read"),
        Register("present_goal", 67, 2, "read", sign_bit=_SIGN_16, unit="tick"),
        Register("present_current", 69, 2, "read", sign_bit=_SIGN_16, unit="6.5 mA; its sign is assumed"),
    )
)


_KGF_CM_N_M: Final = 0.0980665


def _sts3215(
    name: str, supply_v: float, stall_kgf_cm: float, stall_current_a: float, seconds_60_deg: float
) -> ServoModel:
    stall_n_m = stall_kgf_cm * _KGF_CM_N_M
    return ServoModel(
        name=name,
        family="feetech",
        number=MODEL_NUMBER,
        tick_deg=TICK_DEG,
        positions=(0, 4095),
        load_unit="0.1 % of the drive (duty, not torque)",
        load_range=(-FULL_DRIVE, FULL_DRIVE),
        load_n_m=stall_n_m / FULL_DRIVE,
        stall_torque_n_m=stall_n_m,
        stall_current_a=stall_current_a,
        no_load_rad_s=math.radians(60.0) / seconds_60_deg,
        supply_v=supply_v,
        default_gain=32,
        gain_unit=0.25 / FULL_DRIVE,
        gains=(1, _BYTE),
        source=(
            "12 V: figures articles give as the maker's, 7.4 V: a reseller's; not measured; drive per tick assumed to"
            " be P/4 of 0.1 %, stall current assumed"
        ),
    )


MODELS: Final = {
    model.name: model
    for model in (
        _sts3215("STS3215", 7.4, 19.5, 2.4, 0.192),
        _sts3215("STS3215-12V", 12.0, 30.0, 2.7, 0.222),
    )
}
"""Models by the name configurations use."""

TABLES: Final = dict.fromkeys(MODELS, STS3215)
"""Registers of each model."""

"""What is known of the XL330-M288, XL430-W250 and XM430-W350 as data: registers, models, rates, units.

Source: the maker's e-manual, pages of the three models (specifications and control tables). Its torques, currents and
speeds are what it prints for the supply it recommends; no figure was measured here. How much drive a unit of P gain
makes of a tick is not printed: see `GAIN_UNIT`.
"""

from __future__ import annotations

import math
from typing import Final

from drivers.framed.registers import Register, RegisterTable
from drivers.servo import ServoModel

TICK_DEG: Final = 360.0 / 4096.0
"""Degrees of shaft per position tick."""

SPEED_RPM: Final = 0.229
"""Revolutions per minute in a count of speed."""

FULL_PWM: Final = 885
"""Counts of PWM that stand for the whole drive."""

GAIN_UNIT: Final = 1.0 / 128.0 / FULL_PWM
"""Share of the full drive per tick of error and unit of P gain: the register counts in 1/128 (e-manual), and what comes
out is taken for counts of PWM. The second half is assumed, in mode 5 too, where what comes out is a current."""

DEFAULT_BAUD: Final = 57_600
BAUD_CODES: Final = {
    0: 9_600,
    1: 57_600,
    2: 115_200,
    3: 1_000_000,
    4: 2_000_000,
    5: 3_000_000,
    6: 4_000_000,
    7: 4_500_000,
}
"""Rates by code; the XL330 ends at code 6."""

WATCHDOG_STEP_NS: Final = 20_000_000
"""A count of `bus_watchdog`."""

CURRENT_BASED_POSITION, POSITION = 5, 3
"""Operating modes that servos are driven in: 5 where there is one, since its goal current bounds the torque."""

DEFAULT_TIMEOUT_NS: Final = 4_000_000
"""How much later than its wire time a reply may be complete. A servo as delivered waits 0.5 ms; the rest is for a USB
adapter with its latency timer at 1 ms. Assumed."""

DEFAULT_TURNAROUND_NS: Final = 40_000
"""What an emulated servo needs beside its return delay. Assumed."""

LONGEST_PACKET: Final = 1024
"""Bytes of the longest packet that a servo waits for. Assumed: the maker says no more than that its servos take "way
larger" ones than 255 bytes (ROBOTIS-GIT/DynamixelSDK issue 458); its library for devices takes so many by default
(Dynamixel2Arduino, `DEFAULT_DXL_BUF_LENGTH`)."""

BYTE_GAP_NS: Final = 1_500_000
"""The silence within a packet after which a servo waits for a header again (e-manual, Protocol 2.0, "Byte to Byte
Time")."""

V_MAX_DEG_S: Final = 1000.0
"""The fastest a shaft is believed to turn, deg/s: one and a half times the fastest of these models (XL330-M288, 103 rpm
= 618 deg/s), because a leg can also be pushed. Assumed."""

_TURNS: Final = 1_048_575


def _byte(name: str, address: int, default: int, high: int, unit: str = "") -> Register:
    """Return a setting of one byte."""
    return Register(name, address, 1, "eeprom", default, 0, high, unit=unit)


def _word(name: str, address: int, default: int, high: int, unit: str = "", *, access: str = "ram") -> Register:
    """Return a number of two bytes without sign."""
    return Register(name, address, 2, "eeprom" if access == "eeprom" else "ram", default, 0, high, unit=unit)


def _long(name: str, address: int, default: int, high: int, unit: str = "", *, access: str = "ram") -> Register:
    """Return a number of four bytes without sign (with one, no such value is in use)."""
    return Register(name, address, 4, "eeprom" if access == "eeprom" else "ram", default, 0, high, unit=unit)


def _reading(name: str, address: int, size: int, unit: str, *, signed: bool = False) -> Register:
    return Register(name, address, size, "read", sign_bit=8 * size if signed else -1, unit=unit)


def _settings(
    number: int, *, top_code: int, modes: int, heat: int, volts: tuple[int, int], speeds: tuple[int, int], mask: int
) -> tuple[Register, ...]:
    """Return what is kept without supply and all three models have."""
    (low_v, high_v), (speed, top_speed) = volts, speeds
    return (
        Register("model_number", 0, 2, "read", number),
        Register("model_information", 2, 4, "read"),
        Register("firmware_version", 6, 1, "read", 52),
        _byte("id", 7, 1, 252),
        _byte("baud_rate", 8, 1, top_code, "code"),
        _byte("return_delay", 9, 250, 254, "2 us"),
        _byte("drive_mode", 10, 0, modes, "bits: 0 reversed, 2 profiles by time, 3 torque on by goal"),
        _byte("operating_mode", 11, POSITION, 16, "0 current, 1 speed, 3 position, 4 turns, 5 current-based, 16 PWM"),
        _byte("secondary_id", 12, 255, 255),
        _byte("protocol", 13, 2, 22),
        Register("homing_offset", 20, 4, "eeprom", 0, -1_044_479, 1_044_479, 32, "tick"),
        _long("moving_threshold", 24, 10, 1023, "0.229 rpm", access="eeprom"),
        _byte("max_temperature", 31, heat, 100, "deg C"),
        _word("max_voltage", 32, high_v, high_v, "0.1 V", access="eeprom"),
        _word("min_voltage", 34, low_v, high_v, "0.1 V", access="eeprom"),
        _word("pwm_limit", 36, FULL_PWM, FULL_PWM, "0.113 %", access="eeprom"),
        _long("velocity_limit", 44, speed, top_speed, "0.229 rpm", access="eeprom"),
        _long("max_position", 48, 4095, 4095, "tick", access="eeprom"),
        _long("min_position", 52, 0, 4095, "tick", access="eeprom"),
        # Firmware from 45 (XL330: 46) on; older ones were seen to read 0 here and at 147.
        _byte("startup_configuration", 60, 0, 3, "bits: 0 torque on at power-up, 1 RAM as it was kept"),
        _byte("shutdown", 63, mask, 255, "bits as hardware_error"),
    )


def _state(p_gain: int, d_gain: int, speeds: tuple[int, int], velocity_gains: tuple[int, int]) -> tuple[Register, ...]:
    """Return what all three models forget without supply, and what they report."""
    (velocity_i, velocity_p), (speed, top_speed) = velocity_gains, speeds
    return (
        Register("torque_enable", 64, 1, "ram", 0, 0, 1, unit="0 off, 1 on"),
        Register("led", 65, 1, "ram", 0, 0, 1),
        Register("status_level", 68, 1, "ram", 2, 0, 2, unit="0 ping, 1 and read, 2 all"),
        _reading("registered_instruction", 69, 1, ""),
        _reading("hardware_error", 70, 1, "bits: 0 voltage, 2 heat, 3 encoder, 4 electrical shock, 5 overload"),
        _word("velocity_i_gain", 76, velocity_i, 16_383, "1/65536"),
        _word("velocity_p_gain", 78, velocity_p, 16_383, "1/128"),
        _word("position_d_gain", 80, d_gain, 16_383, "1/16"),
        _word("position_i_gain", 82, 0, 16_383, "1/65536"),
        _word("position_p_gain", 84, p_gain, 16_383, "1/128"),
        _word("feedforward_2nd_gain", 88, 0, 16_383, "1/4"),
        _word("feedforward_1st_gain", 90, 0, 16_383, "1/4"),
        Register("bus_watchdog", 98, 1, "ram", 0, 0, 127, 8, "20 ms, 0 off; reads -1 when it has stopped the servo"),
        Register("goal_pwm", 100, 2, "ram", FULL_PWM, -FULL_PWM, FULL_PWM, 16, "0.113 %"),
        Register("goal_velocity", 104, 4, "ram", speed, -top_speed, top_speed, 32, "0.229 rpm"),
        _long("profile_acceleration", 108, 0, 32_767, "214.577 rev/min2, 0 none"),
        _long("profile_velocity", 112, 0, 32_767, "0.229 rpm, 0 none"),
        Register("goal_position", 116, 4, "ram", 0, -_TURNS, _TURNS, 32, "tick"),
        _reading("realtime_tick", 120, 2, "1 ms, to 32767"),
        _reading("moving", 122, 1, ""),
        _reading("moving_status", 123, 1, ""),
        _reading("present_pwm", 124, 2, "0.113 %", signed=True),
        _reading("present_velocity", 128, 4, "0.229 rpm", signed=True),
        _reading("present_position", 132, 4, "tick", signed=True),
        _reading("velocity_trajectory", 136, 4, "0.229 rpm", signed=True),
        _reading("position_trajectory", 140, 4, "tick", signed=True),
        _reading("present_voltage", 144, 2, "0.1 V"),
        _reading("present_temperature", 146, 1, "deg C"),
        _reading("backup_ready", 147, 1, ""),
    )


def _current(limit: int, unit: str) -> tuple[Register, ...]:
    """Return the registers of a model that measures its current."""
    return (
        _word("current_limit", 38, limit, limit, unit, access="eeprom"),
        Register("goal_current", 102, 2, "ram", limit, -limit, limit, 16, unit),
        _reading("present_current", 126, 2, unit, signed=True),
    )


# Velocity limit as delivered, and the most it can be set to.
_XL330_SPEEDS, _XL430_SPEEDS, _XM430_SPEEDS = (445, 2047), (265, 1023), (350, 1023)

XL330_M288: Final = RegisterTable(
    (
        *_settings(1200, top_code=6, modes=5, heat=70, volts=(35, 70), speeds=_XL330_SPEEDS, mask=53),
        Register("pwm_slope", 62, 1, "eeprom", 140, 1, 255, unit="1.977 mV/ms"),
        *_state(400, 0, _XL330_SPEEDS, (1600, 180)),
        *_current(1750, "1 mA"),
    )
)
XL430_W250: Final = RegisterTable(
    (
        *_settings(1060, top_code=7, modes=13, heat=72, volts=(60, 140), speeds=_XL430_SPEEDS, mask=52),
        *_state(640, 4000, _XL430_SPEEDS, (1000, 100)),
        _reading("present_load", 126, 2, "0.1 % of the drive", signed=True),
    )
)
XM430_W350: Final = RegisterTable(
    (
        *_settings(1020, top_code=7, modes=13, heat=80, volts=(95, 160), speeds=_XM430_SPEEDS, mask=52),
        *_state(800, 0, _XM430_SPEEDS, (1920, 100)),
        *_current(1193, "2.69 mA"),
    )
)

_SOURCE: Final = "maker's e-manual, not measured; drive per tick of error assumed to be P/128 counts of PWM"


def _model(
    name: str,
    table: RegisterTable,
    *,
    load: tuple[str, int, float],
    stall: tuple[float, float],
    no_load_rpm: float,
    supply_v: float,
) -> ServoModel:
    """Return a model; `load` is (unit, range, counts at stall), `stall` (N m, A)."""
    load_unit, load_range, load_at_stall = load
    stall_n_m, stall_a = stall
    return ServoModel(
        name=name,
        family="dynamixel",
        number=table["model_number"].default,
        tick_deg=TICK_DEG,
        positions=(0, 4095),
        load_unit=load_unit,
        load_range=(-load_range, load_range),
        load_n_m=stall_n_m / load_at_stall,
        stall_torque_n_m=stall_n_m,
        stall_current_a=stall_a,
        no_load_rad_s=no_load_rpm * math.tau / 60.0,
        supply_v=supply_v,
        default_gain=table["position_p_gain"].default,
        gain_unit=GAIN_UNIT,
        gains=(1, table["position_p_gain"].high),
        source=_SOURCE,
        current_loop="goal_current" in table.all,
    )


MODELS: Final = {
    model.name: model
    for model in (
        _model(
            "XL330-M288",
            XL330_M288,
            load=("1 mA", 1750, 1470.0),
            stall=(0.52, 1.47),
            no_load_rpm=103.0,
            supply_v=5.0,
        ),
        _model(
            "XL430-W250",
            XL430_W250,
            load=("0.1 % of the drive (duty, not torque)", 1000, 1000.0),
            stall=(1.4, 1.3),
            no_load_rpm=57.0,
            supply_v=11.1,
        ),
        _model(
            "XM430-W350",
            XM430_W350,
            load=("2.69 mA", 1193, 2300.0 / 2.69),
            stall=(4.1, 2.3),
            no_load_rpm=46.0,
            supply_v=12.0,
        ),
    )
}
"""Models by the name configurations use."""

TABLES: Final = {"XL330-M288": XL330_M288, "XL430-W250": XL430_W250, "XM430-W350": XM430_W350}
"""Registers of each model."""

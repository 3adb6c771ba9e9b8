"""The STS3215 as the bus uses it (see `drivers.framed.layout`).

Before it is driven a servo is set to positions, its integral gain, dead band and least torque are taken out, and it
goes its ways at full speed: then its torque is in proportion to how far its goal is away. What is in EEPROM of that is
written once; the P gain, which is too, is written with the lock closed and lasts as long as the supply. What would
reverse its positions, shift them or scale them is looked at, and left to the servo's owner.
"""

from __future__ import annotations

from typing import Final

from drivers.feetech.codec import DIALECT, FeetechListener
from drivers.feetech.table import BAUD_CODES, FULL_DRIVE, LONGEST_PACKET, MODELS, TABLES
from drivers.framed.layout import FamilyLayout, FixedRegister, Meaning, ModelLayout

_SETTINGS: Final = (
    ("status_level", 1),
    ("operating_mode", 0),
    ("position_i_gain", 0),
    ("min_start_torque", 0),
    ("dead_band_plus", 0),
    ("dead_band_minus", 0),
    ("acceleration", 0),
    ("goal_velocity", 0),
)

# The other bits of the phase are how the servo is built, or about speeds, which are not used: what they are when it is
# delivered is not printed, and differs.
_MEANINGS: Final = (
    Meaning("phase", "bit 7 reverses positions, bit 4 lets them count on over several turns", mask=0b1001_0000),
    Meaning("resolution", "a position counts that many steps of the sensor", value=1),
    Meaning("position_offset", "positions are shifted by it"),
)

_FIXED: Final = (
    FixedRegister(
        "phase", "bits 0, 1, 5 and 6 say how the servo is built: with others it may run away", mask=0b0110_0011
    ),
)

_ALERTS: Final = {0: "voltage", 1: "encoder", 2: "heat", 3: "current", 5: "overload"}

PADDING: Final = bytes(LONGEST_PACKET - FeetechListener.head)
"""What ends the wait of a servo that heard a wrong length: as much as a length can announce.

Zeros never make a packet out of what such a servo has heard. A packet and its checksum sum up to 255 (modulo 256).
Heard with one more bit in its length it sums up to a power of two more, and each whole packet that follows, its header
counted, takes 3 off; zeros change nothing. So for a right checksum that power of two would have to be 3 times the
number of packets swallowed, modulo 256: 86 of them at least, and 42 fit into the longest wait. Bytes of 255, which do
change the sum, would make it right sooner or later.
"""

LAYOUT: Final = FamilyLayout(
    family="feetech",
    dialect=DIALECT,
    kinds={
        name: ModelLayout(
            model=model,
            table=TABLES[name],
            settings=_SETTINGS,
            load="present_load",
            cap=("torque_limit", FULL_DRIVE),
            cap_limit="max_torque",
            limits=("min_position", "max_position"),
            unlimited=(0, 0),
            meanings=_MEANINGS,
        )
        for name, model in MODELS.items()
    },
    # Position, speed, load.
    block=(56, 6),
    bauds=BAUD_CODES,
    alert_mask=sum(1 << bit for bit in _ALERTS),
    refusal_mask=0,
    alert_register="servo_status",
    alerts=_ALERTS,
    lock="eprom_lock",
    padding=PADDING,
    fixed=_FIXED,
)

"""Emulated STS3215 servos for tests, their registers by name."""

from drivers.feetech.table import MODELS, STS3215
from drivers.framed.registers import Register

STALL_N_M = MODELS["STS3215"].stall_torque_n_m


def reg(name: str) -> Register:
    return STS3215[name]


def driven(host, bus_id=1):
    """Turn the torque on, and forget what that told the plant."""
    assert host.write(bus_id, reg("torque_enable"), 1) == 0
    host.plant.taken()
    return host

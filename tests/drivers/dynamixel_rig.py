"""Emulated X servos for tests, their registers by name."""

from drivers.dynamixel.table import MODELS, TABLES
from drivers.framed.registers import Register

XM = "XM430-W350"
STALL_N_M, STALL_A = MODELS[XM].stall_torque_n_m, MODELS[XM].stall_current_a


def reg(name: str, model: str = XM) -> Register:
    return TABLES[model][name]


def driven(host, bus_id=1):
    """Turn the torque on, and forget what that told the plant."""
    assert host.write(bus_id, reg("torque_enable"), 1) == 0
    host.plant.taken()
    return host

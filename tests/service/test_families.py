"""A configuration in the daemon: built for the families of its buses, with its weight carried, and saved as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nuc_engine.configurations.adapt import adapt, write_adapted
from nuc_engine.messages.errors import Refused
from nuc_engine.service.configuration import make_configuration, read_configuration
from nuc_engine.service.save import configuration_files

DXL = {"": "dynamixel"}


@pytest.fixture(scope="module")
def leg(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("legs") / "xl"
    write_adapted(adapt("lin_roach", "XL430-W250"), folder)
    return folder


def test_the_buses_decide_which_motors_are_driven(leg):
    assert {motor.model for motor in read_configuration("xl", leg, DXL).plan.motors} == {"XL430-W250"}
    assert {motor.model for motor in read_configuration("xl", leg, {"": "aimotor"}).plan.motors} == {"1001", "701"}
    with pytest.raises(Refused, match="no motor of the family feetech"):
        read_configuration("xl", leg, {"": "feetech"})


def test_its_weight_is_carried_where_the_masses_are_known(leg):
    assert read_configuration("xl", leg, DXL).plan.gravity is None
    found = read_configuration("xl", leg, DXL, 0.5)
    assert found.plan.gravity is not None
    assert found.plan.gravity.share == 0.5
    assert make_configuration("xl", found.files, DXL, 0.5).plan == found.plan
    files = {name: data for name, data in found.files.items() if name != "plant.toml"}
    with pytest.raises(Refused, match="needs the masses"):
        make_configuration("xl", files, DXL, 0.5)


def test_torque_tables_come_with_it_and_nothing_else_does(leg, tmp_path):
    text = (leg / "joints.xml").read_text().replace("<motor name", '<motor torqueTable="t.json" name')
    table = json.dumps({"ticks": [0, 100], "torque_n_m": [0, 0.3]})
    for name, content in (("joints.xml", text), ("t.json", table), ("other.json", "{}")):
        (tmp_path / name).write_text(content)
    for name in ("parameters.xml", "sensors.xml", "plant.toml"):
        (tmp_path / name).write_bytes((leg / name).read_bytes())
    found = read_configuration("xl", tmp_path, DXL)
    assert set(found.files) == {"joints.xml", "parameters.xml", "sensors.xml", "plant.toml", "t.json"}
    assert found.plan.motors[0].torque_table == ((-100.0, -0.3), (0.0, 0.0), (100.0, 0.3))
    with pytest.raises(Refused, match=r"has other\.json too"):
        make_configuration("xl", {**found.files, "other.json": b"{}"}, DXL)


def test_what_is_saved_keeps_the_start_values_of_the_motors_that_were_not_driven(leg):
    configuration = read_configuration("xl", leg, DXL)
    held = {write.hdso: write.values for write in configuration.plan.initial}
    held[configuration.plan.motors[1].position_command] = (2100.0,)
    files = configuration_files(configuration, held)
    saved = make_configuration("xl", {**configuration.files, **files}, DXL)
    ai = make_configuration("xl", {**configuration.files, **files}, {"": "aimotor"})

    def start(found):
        index = found.plan.motors[1].position_command
        return [write.values for write in found.plan.initial if write.hdso == index][-1]

    assert start(saved) == (2100.0,)
    assert start(ai) == (128.0,)

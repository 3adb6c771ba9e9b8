"""Where the foot was, from the joint angles: against hand-worked poses, the kinematics, and the simulated truth."""

from __future__ import annotations

import math
import tomllib
from dataclasses import replace

import numpy as np
import pytest

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.kinematic import foot_path, joint_paths
from nuc_engine.analysis.load import load_bout
from nuc_engine.model.kinematics import joint_origins

FLAT = (10.0, 0.0, 0.0, math.pi / 180)
FINGER = (4.0, 0.0, 0.0, math.pi / 180)


def test_two_links_in_a_plane() -> None:
    angles = np.array([[0.0, 0.0], [90.0, 0.0], [0.0, 90.0], [90.0, -90.0], [30.0, 30.0]])
    half, root = 0.5, math.sqrt(3) / 2
    expected = [[14, 0, 0], [0, 14, 0], [10, 4, 0], [4, 10, 0], [10 * root + 4 * half, 10 * half + 4 * root, 0]]
    np.testing.assert_allclose(foot_path([None, None], [FLAT, FINGER], angles), expected, atol=1e-12)


def test_the_first_matrix_places_the_leg() -> None:
    lifted = np.eye(4)
    lifted[2, 3] = 8.0
    paths = joint_paths([lifted, None], [FLAT, FINGER], np.zeros((1, 2)))
    np.testing.assert_allclose(paths[0], [[0, 0, 8], [10, 0, 8], [14, 0, 8]])


def test_no_angles_give_no_path() -> None:
    assert foot_path([None, None], [FLAT, FINGER], np.zeros((0, 2))).shape == (0, 3)
    assert joint_paths([None, None], [FLAT, FINGER], np.zeros((0, 2))).shape == (0, 3, 3)


def test_every_pose_is_that_of_the_kinematics(roach: Bout) -> None:
    matrices, lines = [j.amatrix for j in roach.joints], [j.dh_line for j in roach.joints]
    angles = roach.angles_deg()
    paths = joint_paths(matrices, lines, angles)
    for k in range(0, len(angles), 40):
        np.testing.assert_allclose(paths[k], joint_origins(matrices, lines, angles[k]), atol=1e-12)
    np.testing.assert_array_equal(roach.foot_from_angles(), paths[:, -1])
    np.testing.assert_array_equal(roach.leg_from_angles(), paths)


def distance_from_truth(bout: Bout) -> np.ndarray:
    """How far the foot from angles is from the simulated one, in cm, once the leg has settled from the start."""
    assert bout.plant is not None
    times = bout.sensors.t_s
    truth = np.stack([np.interp(times, bout.plant.t_s, bout.plant.values[:, k]) for k in range(3)], axis=1)
    inside = (times > 0.2) & (times < bout.plant.t_s[-1])
    return np.linalg.norm(bout.foot_from_angles() - truth, axis=1)[inside]


TYPICAL_CM, MOST_CM = 0.6, 2.0
"""Half a servo tick (0.33 degrees) at 40 cm is 0.23 cm per joint, and the angles of one cycle are up to 5 ms old, 1 cm
at 2 m/s."""


def test_the_stick_insects_foot_is_where_the_simulated_one_is(finished_stick) -> None:
    distance = distance_from_truth(load_bout(finished_stick))
    assert np.median(distance) < TYPICAL_CM
    assert distance.max() < MOST_CM


def test_the_cockroachs_foot_is_there_too_once_the_plants_own_geometry_is_used(stiff_roach: Bout) -> None:
    """Its first plant overrides one twist, which is printed as 90 degrees."""
    first, *others = stiff_roach.joints
    assert first.dh_line is not None
    a, d, alpha, scale = first.dh_line
    assert alpha == pytest.approx(-math.pi / 2)
    plant = tomllib.loads((stiff_roach.folder / "plant.toml").read_text())
    twist = math.radians(plant["joint"][first.name]["override"]["alpha_deg"])
    bent = replace(first, dh_line=(a, d, twist, scale))
    distance = distance_from_truth(replace(stiff_roach, joints=(bent, *others)))
    assert np.median(distance) < TYPICAL_CM
    assert distance.max() < MOST_CM
    assert np.median(distance_from_truth(stiff_roach)) > TYPICAL_CM


def test_a_link_that_gives_way_takes_the_foot_away_from_where_the_angles_have_it(roach: Bout) -> None:
    """Section 7.1.2: the foot's place can not be had from the joint angles; here by up to the ten degrees of 10.2."""
    distance = distance_from_truth(roach)
    assert TYPICAL_CM < np.median(distance) < 5.0


def test_a_joint_without_a_sensor_stays_at_zero(roach: Bout) -> None:
    joints = tuple(replace(j, angle=None) if j.role == "FTi" else j for j in roach.joints)
    assert not replace(roach, joints=joints).angles_deg()[:, 3].any()

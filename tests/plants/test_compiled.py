"""MuJoCo as the legs use it: one leg is one island, its state is floats, no file of warnings, no stop watch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest

from nuc_engine.plants.compiled import compile_model, floats

BALL = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
<body pos="0 0 1"><freejoint/><geom type="sphere" size="0.1" mass="1"/></body></worldbody></mujoco>"""


def test_constraints_are_not_split_into_islands_where_mujoco_would() -> None:
    island = getattr(mujoco.mjtDisableBit, "mjDSBL_ISLAND", None)
    if island is None:
        pytest.skip("this MuJoCo does not split them")
    plain = mujoco.MjModel.from_xml_string(BALL)
    assert not plain.opt.disableflags & int(island)
    # And nothing else is changed.
    assert compile_model(BALL).opt.disableflags == plain.opt.disableflags | int(island)


def test_floats_are_the_arrays_own() -> None:
    array = np.array([1.0, 2.0])
    view = floats(array)
    array[0] = 3.5
    view[1] = 4.5
    assert (type(view[0]), view[0], array[1]) == (float, 3.5, 4.5)


def test_a_warning_of_mujoco_leaves_no_file_behind(tmp_path: Path) -> None:
    # A ball that is thrown out of the world makes MuJoCo warn; by itself it would write MUJOCO_LOG.TXT.
    code = (
        "import sys, mujoco\n"
        "from nuc_engine.plants.compiled import compile_model, keep_mujoco_from_writing_a_log\n"
        "if sys.argv[2] == 'kept': keep_mujoco_from_writing_a_log()\n"
        "model = compile_model(sys.argv[1])\n"
        "data = mujoco.MjData(model)\n"
        "data.qvel[0] = float('nan')\n"
        "mujoco.mj_step(model, data)\n"
        "assert sum(warning.number for warning in data.warning) > 0\n"
    )
    root = Path(__file__).parents[2]
    for how, files in (("kept", []), ("left alone", ["MUJOCO_LOG.TXT"])):
        folder = tmp_path / how
        folder.mkdir()
        subprocess.run(
            [sys.executable, "-c", code, BALL, how], check=True, cwd=folder, env={"PYTHONPATH": str(root)}, timeout=60
        )
        assert [path.name for path in folder.iterdir()] == files


def test_mujoco_does_not_time_its_steps_and_simulates_the_same() -> None:
    # In a process of its own: there is no way back.
    code = (
        "import sys, mujoco\n"
        "from nuc_engine.plants.compiled import compile_model, keep_mujoco_from_timing_itself\n"
        "def run():\n"
        "    model = compile_model(sys.argv[1])\n"
        "    data = mujoco.MjData(model)\n"
        "    mujoco.mj_step(model, data, 600)\n"
        "    return data.qpos.tobytes(), sum(timer.duration for timer in data.timer)\n"
        "before, spent = run()\n"
        "assert spent > 0, 'MuJoCo does not time itself any more; nothing has to be taken away'\n"
        "assert keep_mujoco_from_timing_itself()\n"
        "assert run() == (before, 0)\n"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", code, BALL], check=True, env={"PYTHONPATH": str(root)})


def test_a_clock_somebody_has_given_mujoco_stays() -> None:
    code = (
        "import mujoco\n"
        "from nuc_engine.plants.compiled import keep_mujoco_from_timing_itself\n"
        "mujoco.set_mjcb_time(lambda: 1.0)\n"
        "assert not keep_mujoco_from_timing_itself()\n"
        "assert mujoco.get_mjcb_time() is not None\n"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(root)})

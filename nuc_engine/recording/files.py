"""What the files of a data directory are called; those of a configuration are named where they are read."""

from __future__ import annotations

MOTOR_LOG = "MotorData.txt"
SENSOR_LOG = "SensData.txt"
STATE_LOG = "StateData.txt"
MUSCLE_LOG = "MuscleData.txt"
DATA_LOGS = (MOTOR_LOG, SENSOR_LOG, STATE_LOG, MUSCLE_LOG)
"""What the engine's four tasks log, in the order in which they run."""

EVENT_LOG = "Infolog.txt"
DEBUG_LOG = "Debuglog.txt"
PLANT_LOG = "PlantData.txt"
SENSED_LOG = "SensedData.txt"
"""What was sensed of every sensor, while it was not all as measured."""
KERNEL_LOG = "dmesglog.txt"
SCRIPT_LOG = "Scriptlog.xml"
HDSO_LOG = "HDSOlog.xml"
NOTES_FILE = "Notes.jsonl"

MANIFEST_FILE = "manifest.json"
MANIFEST_DRAFT = "manifest.json.new"
"""What becomes the manifest once it is whole."""
COLUMNS_FILE = "columns.json"
SCRIPT_FILE = "scriptfile.xml"
INPUT_RECORD = "InputRecord.msgpack"
EPISODE_LOG = "EpisodeData.f64"
"""What an episode of a RunConfig logs instead: rows of little-endian doubles, as columns.json names them."""
WEIGHTS_FILE = "weights.f4"
"""The weights of the surrogate that flew an episode: little-endian floats, by whose sum its manifest names them."""
MCAP_FILE = "bout.mcap"
"""The first; a data logger that was restarted goes on in `bout_2.mcap` and so on."""

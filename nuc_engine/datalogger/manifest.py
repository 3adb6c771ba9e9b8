"""What the manifest of a daemon's bout says, while it is being written and when it has ended."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from drivers.units import NS_PER_S
from nuc_engine.control.blocks import LIVE_SEED
from nuc_engine.datalogger.commits import OpenBout
from nuc_engine.datalogger.kernellog import open_kmsg
from nuc_engine.model.extensions import installed
from nuc_engine.model.motors import families_of
from nuc_engine.model.plan import Plan
from nuc_engine.recording.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Context:
    """What stands in the manifest of every bout of a daemon: buses by name, options, versions; and the wall clock.

    `versions` is asked for when the first manifest is written, `kernel` for a descriptor of the kernel's messages. With
    `sync`, a flush waits for the disk itself.
    """

    bus: Mapping[str, str]
    options: Mapping[str, Any]
    versions: Callable[[], Mapping[str, str]]
    wall: Callable[[], datetime]
    sync: bool = True
    kernel: Callable[[], int] = open_kmsg

    @property
    def families(self) -> Mapping[str, str]:
        """The family of the servos of each bus, by its name."""
        return families_of(self.bus.items())


def bout_manifest(
    state: OpenBout, context: Context, configuration: str, plan: Plan, script: str | None, inputs: Mapping[str, str]
) -> Manifest:
    """Return the manifest of a bout being written, but for its notes; `inputs` are sums of documents by file."""
    options, bus = context.options, dict(context.bus)
    return Manifest(
        configuration=configuration,
        script=script,
        script_writes=None if script is None else state.script_writes,
        written_before=state.written_before,
        clock="real",
        bus=bus.get("", bus),
        families=context.families,
        spec={
            "limits": dict(options["limits"]),
            "approach_deg_s": options["approach_deg_s"],
            "gravity_compensation": options.get("gravity_compensation", 0.0),
            **({"noise_seed": LIVE_SEED} if plan.signals else {}),
        },
        options=options,
        labels=state.labels,
        inputs=dict(sorted(inputs.items())),
        versions=context.versions(),
        extensions=installed(plan.extensions),
        started=state.started,
        bout=state.number,
        window_s=(state.from_ns / NS_PER_S, None if state.until_ns < 0 else state.until_ns / NS_PER_S),
        start_pose_deg=state.pose_deg,
        losses=_losses(state),
    )


def _losses(state: OpenBout) -> dict[str, Any]:
    return {
        "records": {
            kind: {"count": count, "from_s": first / NS_PER_S, "to_s": last / NS_PER_S}
            for kind, (count, first, last) in sorted(state.losses.items())
        },
        "refused_writes": state.refused,
        "unlogged_answers": state.unlogged_answers,
        "core_restarts": state.deaths,
    }


def read_notes(path: Path) -> list[dict[str, Any]]:
    """Return the notes of a bout, none where there are none yet."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    return [json.loads(line) for line in lines if line.endswith("}")]

"""What a verdict rests on: the code that ran and judged, and the files that say what was run."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nuc_engine.experiments.protocol import BoutPlan
from nuc_engine.machine.locations import CHECKOUT, PLANT_SPEC_FILE, find_configuration, find_script
from nuc_engine.model.planning import companion_files
from nuc_engine.plants.spec import spec_file
from nuc_engine.recording.manifest import sha256, versions
from sccils_schemas.model import MODEL_FILES, load_model

CODE = ("sccils_schemas", "drivers", "nuc_engine", "configs", "scripts")
"""Folders whose last commit a verdict names: criteria, classifier, engine, plants, configurations and scripts."""

_LIBRARIES = ("engine", "python", "numpy", "mujoco")


@dataclass(frozen=True, slots=True)
class Sources:
    """`commit` is the last one that touched the code, "" outside a repository; `modified` means not all is in it.

    `files` maps configuration, script and plant files to their sha256, `versions` a library to its version.
    """

    commit: str
    modified: bool
    versions: Mapping[str, str]
    files: Mapping[str, str]


def find_sources(plans: Iterable[BoutPlan]) -> Sources:
    """Return what a verdict over these bouts rests on. Raises NotFound for configurations or scripts there are not."""
    commit = _git("log", "-1", "--format=%H")
    found = versions()
    return Sources(
        commit=commit,
        modified=bool(commit and _git("status", "--porcelain")),
        versions={name: found[name] for name in _LIBRARIES},
        files=dict(sorted(_files(plans).items())),
    )


def file_names(plans: Iterable[BoutPlan]) -> tuple[str, ...]:
    """Return the names under which `Sources.files` has what these bouts rest on. Raises NotFound as `find_sources`."""
    return tuple(sorted(source_paths(plans)))


def _files(plans: Iterable[BoutPlan]) -> dict[str, str]:
    return {name: sha256(path) for name, path in source_paths(plans).items()}


def source_paths(plans: Iterable[BoutPlan]) -> dict[str, Path]:
    """Return the files that bouts rest on, by the names of `Sources.files`. Raises NotFound as `find_sources`."""
    plans = list(plans)
    configurations = [
        path for name in {plan.config for plan in plans} for path in _configuration(find_configuration(name))
    ]
    scripts = [find_script(plan.script) for plan in plans if plan.script is not None]
    files = {f"configs/{path.parent.name}/{path.name}": path for path in configurations}
    return files | {f"scripts/{path.name}": path for path in scripts}


def _configuration(folder: Path) -> list[Path]:
    model, _ = load_model(folder)
    paths = [folder / name for name in (*MODEL_FILES, *(companion_files(model) if model is not None else ()))]
    plant = folder / PLANT_SPEC_FILE
    return [*paths, spec_file(plant)] if plant.exists() else paths


def pointer_paths(plans: Iterable[BoutPlan]) -> dict[str, Path]:
    """Return the plants of bouts that only say whose they share, as `source_paths` does: no sum is kept of these."""
    plants = (find_configuration(plan.config) / PLANT_SPEC_FILE for plan in plans)
    return {
        f"configs/{path.parent.name}/{path.name}": path for path in plants if path.exists() and spec_file(path) != path
    }


def _git(*words: str) -> str:
    """Return what git says of the code's folders, "" where this is no checkout of it."""
    command = ["git", "-C", str(CHECKOUT), *words, "--", *CODE]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return said.stdout.strip()

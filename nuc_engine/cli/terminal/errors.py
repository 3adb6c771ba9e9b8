"""Errors a person can do something about, as lines and an exit status."""

from __future__ import annotations

from importlib import import_module

import click

BAD, USAGE = 1, 2

_KINDS: tuple[tuple[str, str, int], ...] = (
    ("nuc_engine.machine.needs", "Missing", BAD),
    ("nuc_engine.recording.formats", "WrongEnding", USAGE),
    ("nuc_engine.machine.locations", "NotFound", USAGE),
    ("nuc_engine.machine.rundir", "RunDirError", BAD),
    ("nuc_engine.recording.directory", "DirectoryInUse", USAGE),
    ("drivers.errors", "BusUrlError", USAGE),
    ("drivers.errors", "BusError", BAD),
    ("nuc_engine.bout.run", "BoutRefused", BAD),
    ("nuc_engine.episode.document", "RunConfigError", BAD),
    ("nuc_engine.model.plan", "PlanError", BAD),
    ("nuc_engine.plants", "PlantSpecError", BAD),
    ("nuc_engine.analysis.errors", "AnalysisError", BAD),
    ("sccils_schemas.problems", "SccilsError", BAD),
    ("nuc_engine.emulation.errors", "EmulationError", BAD),
    ("nuc_engine.bout.replay", "ReplayRefused", BAD),
    ("nuc_engine.verify", "Unverifiable", BAD),
)
"""Module, class and exit status of every error that is no fault of this program. Looked up only once one is there."""


class CommandFailed(click.ClickException):
    """What was asked about is bad: one line for each reason, exit status 1."""

    exit_code = BAD

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))


def explain(error: Exception) -> tuple[int, tuple[str, ...]] | None:
    """Return exit status and lines for an error, or None for one that only a fault of this program can cause."""
    if isinstance(error, click.UsageError):
        return USAGE, (_usage(error),)
    if isinstance(error, click.ClickException):
        return error.exit_code, tuple(error.format_message().splitlines())
    for module, name, status in _KINDS:
        kind = _find(module, name)
        if kind is not None and isinstance(error, kind):
            return status, tuple(str(error).splitlines()) or (name,)
    if isinstance(error, ModuleNotFoundError):
        return _no_module(error)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return BAD, (f"nuc: {where}{error.strerror or error}; check that the place exists and may be written to",)
    return None


def _no_module(error: ModuleNotFoundError) -> tuple[int, tuple[str, ...]] | None:
    """Explain a library of an extra that nobody asked for before it was needed."""
    from nuc_engine.machine.needs import LIBRARIES, missing

    library = (error.name or "").partition(".")[0]
    return (BAD, (str(missing(**{library: "this"})),)) if library in LIBRARIES else None


def _usage(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx is not None else "nuc"
    message = " ".join(error.format_message().split()).rstrip(".")
    return f"{path}: {message} (see {path} --help)"


def _find(module: str, name: str) -> type[Exception] | None:
    try:
        return getattr(import_module(module), name, None)
    except ImportError:
        return None

"""Parts of SCCILS 0.2 put into shipped configurations, and what their bouts come out as."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from nuc_engine.recording.files import MOTOR_LOG
from tests.verify.variants import Case, run

VERSION = (r"<(jointlist|hdsolist) ", r'<\1 version="0.2" ')


def hdso(number: int, name: str, value: object, datatype: str = "double", *, kind: str = "parameter") -> str:
    """Return the declaration of an HDSO."""
    return (
        f'<hdso idNum="{number}" name="{name}" abstractType="{kind}" datatype="{datatype}" numdims="1">'
        f'<dimsize dimNr="1">1</dimsize><initial_data>{value}</initial_data></hdso>'
    )


def rule(number: int, name: str, text: str) -> str:
    """Return the declaration of a rule."""
    return (
        f'<hdso idNum="{number}" name="{name}" abstractType="boolstring" datatype="int" xmltype="char" numdims="2">'
        f'<dimsize dimNr="1">2</dimsize><dimsize dimNr="2">30</dimsize><initial_data>{text}</initial_data></hdso>'
    )


def case(*changes: tuple[str, str], hdsos: tuple[str, ...] = (), signals: tuple[str, ...] = (), **more: object) -> Case:
    """Return a bout of lin_roach with documents of 0.2 and these changes; `hdsos` are added to its parameters."""
    known = {
        "config": "lin_roach",
        "seconds": 2.0,
        "changes": (
            VERSION,
            (r"(?s)(one_llint_const.*?</hdso>)", lambda found: found[1] + "".join(hdsos)),
            (r"(?s)(engine_stop_time.*?</hdso>)", lambda found: found[1] + "".join(signals)),
            *changes,
        ),
    }
    return Case(**{**known, **more})


def bout(given: Case, folder: Path, clock: str = "virtual") -> Path:
    """Run it; return its data directory."""
    folder.mkdir(parents=True, exist_ok=True)
    return run(replace(given, clock=clock), folder)


def motor_log(folder: Path) -> bytes:
    """Return what moved the leg."""
    return (folder / MOTOR_LOG).read_bytes()

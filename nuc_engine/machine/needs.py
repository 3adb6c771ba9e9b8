"""What a command needs that may not be there: an extra of this package, or Linux. Each is told in one line.

`need` and `need_linux` are asked before anything starts; `missing` makes the same line where an import failed.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from nuc_engine.machine.locations import PACKAGE

DISTRIBUTION = "nuc-engine"

LIBRARIES: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "mujoco": ("MuJoCo", "sim", "mujoco"),
        "matplotlib": ("matplotlib", "plot", "matplotlib"),
        "PIL": ("Pillow", "lab", "pillow"),
        "imageio_ffmpeg": ("ffmpeg", "lab", "imageio-ffmpeg"),
        "optuna": ("Optuna", "lab", "optuna"),
        "pyarrow": ("PyArrow", "lab", "pyarrow"),
        "mcap": ("MCAP", "mcap", "mcap"),
        "scipy": ("SciPy", "lab", "scipy"),
        "diptest": ("diptest", "lab", "diptest"),
        "distributed": ("Dask", "dask", "distributed"),
        "starlette": ("Starlette", "ui", "starlette"),
        "uvicorn": ("uvicorn", "ui", "uvicorn"),
        "websockets": ("websockets", "ui", "websockets"),
    }
)
"""Module of a library that may not be there -> its name, the extra that brings it, and what indices call it."""


class Missing(Exception):
    """Something is needed that is not there; the message is one line that says what, for what, and how to get it."""


def need(**uses: str) -> None:
    """Raise Missing unless these libraries are installed: `need(mujoco="an emulated leg")`. Loads none of them."""
    absent = {module: use for module, use in uses.items() if find_spec(module) is None}
    if absent:
        raise missing(**absent)


def missing(**uses: str) -> Missing:
    """Return what says that these libraries are missing: module -> what needs it."""
    names = {use: [LIBRARIES[module][0] for module in uses if uses[module] == use] for use in uses.values()}
    told = ", ".join(f"{use} needs {' and '.join(wanted)}" for use, wanted in names.items())
    return Missing(f"{told}: {install_command(*uses)}")


def need_linux(what: str, why: str) -> None:
    """Raise Missing on any other system."""
    if sys.platform != "linux":
        raise Missing(f"{what} needs Linux: {why}")


def install_command(*modules: str, package: Path = PACKAGE) -> str:
    """Return the command that adds libraries to the installation in use, by the extras that bring them.

    It names the checkout `package` is in, else the wheel or folder it was installed from (direct_url.json, PEP 610).
    Where neither is there any more, it names the libraries.
    """
    extras = f"[{','.join(dict.fromkeys(LIBRARIES[module][1] for module in modules))}]"
    if (package.parent / "pyproject.toml").is_file():
        return _pip("-e", f"{package.parent}{extras}")
    source = _source()
    return _pip(*(LIBRARIES[module][2] for module in modules)) if source is None else _pip(f"{source}{extras}")


def _source() -> Path | None:
    """Return the wheel or folder this was installed from, None where none is told or it is gone."""
    # Only whoever lacks something waits for these.
    import importlib.metadata
    from urllib.parse import unquote, urlsplit

    try:
        told = importlib.metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        return None
    url = urlsplit(json.loads(told)["url"] if told else "")
    path = Path(unquote(url.path.removeprefix("/") if sys.platform == "win32" else url.path))
    return path if url.scheme == "file" and path.exists() else None


def _pip(*words: str) -> str:
    """Return a command that installs into this interpreter, whichever is first on the path, quoted for a shell."""
    python = next(
        (name for name in ("python", "python3") if shutil.which(name) == str(Path(sys.executable).with_name(name))),
        _quoted(sys.executable),
    )
    # Environments that uv makes have no pip of their own.
    start = f"{python} -m pip install" if find_spec("pip") is not None else f"uv pip install --python {python}"
    return " ".join([start, *map(_quoted, words)])


def _quoted(word: str) -> str:
    """Return a word as a shell takes it: brackets mean something to zsh, and `>` to all of them."""
    if sys.platform == "win32":
        return f'"{word}"' if set(word) & set(" []<>&^|") else word
    return shlex.quote(word)

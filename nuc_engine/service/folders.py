"""Where names in requests lead: into the configuration, script and data folders, and never out of them."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from nuc_engine.analysis.listing import is_bout
from nuc_engine.machine.locations import NotFound, find_configuration, find_script, list_configurations
from nuc_engine.messages.errors import Refused
from sccils_schemas.names import did_you_mean, shorten
from sccils_schemas.problems import Problems
from sccils_schemas.xmlread import read_file

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
POSES = "poses.json"


def check_name(name: str) -> str:
    """Return a name that may become a file's or folder's. Raises Refused."""
    if not _NAME.fullmatch(name):
        expected = "letters, digits, _ and -, at most 64, beginning with a letter or digit"
        raise Refused("bad_request", f"{shorten(name)!r} is no name for a file or folder", f"expected {expected}")
    return name


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders that requests may name things in."""

    data: Path
    configurations: Path = Path("configs")
    scripts: Path = Path("scripts")

    def find_configuration(self, name: str) -> Path:
        """Return the folder of a configuration that is listed. Raises Refused."""
        check_name(name)
        known = list_configurations()
        if name not in known:
            raise Refused("not_found", f"there is no configuration {name!r}", did_you_mean(name, known) or _list(known))
        try:
            folder = find_configuration(name)
        except NotFound as error:
            raise Refused("not_found", str(error)) from error
        inside = list(folder.iterdir())
        if folder.is_symlink() or any(path.is_symlink() for path in inside):
            raise Refused("refused", f"configuration {name!r} is, or holds, a symbolic link", "copy what it leads to")
        if odd := [path.name for path in inside if not (path.is_file() or path.is_dir())]:
            raise Refused("refused", f"configuration {name!r} holds what is no file: {shorten(odd[0])}", "remove it")
        return folder

    def find_script(self, name: str) -> Path:
        """Return the file of a script. Raises Refused."""
        check_name(name)
        try:
            path = find_script(f"{name}.xml")
        except NotFound as error:
            raise Refused("not_found", str(error)) from error
        if path.is_symlink():
            raise Refused("refused", f"script {name!r} is a symbolic link", "copy what it leads to")
        return path

    def bout(self, name: str) -> Path:
        """Return a bout's data directory by its path in the data folder. Raises Refused."""
        parts = name.split("/")
        folder = self.data.joinpath(*parts)
        if not all(map(_is_plain, parts)) or has_link(self.data, parts) or not is_bout(folder):
            raise Refused("not_found", f"there is no bout {shorten(name)!r}", "see `bouts`")
        return folder

    def bout_file(self, bout: str, file: str) -> Path:
        """Return a file of a bout by its path in there. Raises Refused."""
        folder, parts = self.bout(bout), file.split("/")
        path = folder.joinpath(*parts)
        if not all(map(_is_plain, parts)) or has_link(folder, parts) or not path.is_file():
            raise Refused("not_found", f"the bout has no file {shorten(file)!r}", "see `bout_files`")
        return path

    def mend(self) -> None:
        """Finish what a killed service has left between two names: a configuration is there, the old one or the new."""
        for old in self.configurations.glob(".*.old"):
            folder = old.with_name(old.name[1:].removesuffix(".old"))
            if not _NAME.fullmatch(folder.name):
                continue
            with suppress(OSError):
                if folder.exists():
                    shutil.rmtree(old)
                else:
                    old.rename(folder)

    def new_configuration(self, name: str, files: Mapping[str, bytes], *, overwrite: bool) -> Path:
        """Write a configuration's folder, whole or not at all. Raises Refused."""
        folder = self._target(self.configurations, check_name(name), overwrite=overwrite)
        draft = folder.with_name(f".{name}.new")
        try:
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(parents=True)
            for file, data in files.items():
                (draft / file).write_bytes(data)
            if folder.exists():
                old = folder.with_name(f".{name}.old")
                shutil.rmtree(old, ignore_errors=True)
                folder.rename(old)
                draft.rename(folder)
                shutil.rmtree(old)
            else:
                draft.rename(folder)
        except OSError as error:
            raise _unwritable(folder, error) from error
        return folder

    def new_script(self, name: str, data: bytes, *, overwrite: bool) -> Path:
        """Write a script, whole or not at all. Raises Refused."""
        path = self._target(self.scripts, f"{check_name(name)}.xml", overwrite=overwrite)
        replace_file(path, data)
        return path

    def check_free(self, name: str) -> str:
        """Return the name of a data directory that is not there yet. Raises Refused."""
        if os.path.lexists(self.data / check_name(name)):
            raise Refused("refused", f"{self.data / name} exists", "choose another name: data are never written over")
        return name

    def read_poses(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return the saved poses: configuration -> name -> joint -> degrees. Raises Refused for a bad file."""
        path, problems = self.data / POSES, Problems()
        if not os.path.lexists(path):
            return {}
        try:
            found = json.loads(read_file(path, problems) or b"")
        except (ValueError, RecursionError) as error:
            why = "; ".join(map(str, problems.errors)) or f"{path} cannot be read: {error}"
            raise Refused("failed", why, "repair it or move it away") from error
        if not _is_poses(found):
            raise Refused("failed", f"{path} does not hold poses", "repair it or move it away")
        return found

    def write_poses(self, poses: Mapping[str, Any]) -> Path:
        """Replace the saved poses. Raises Refused."""
        path = self.data / POSES
        replace_file(path, (json.dumps(poses, indent=1, sort_keys=True) + "\n").encode())
        return path

    def _target(self, root: Path, name: str, *, overwrite: bool) -> Path:
        target = root / name
        if root.is_symlink() or target.is_symlink():
            raise Refused("refused", f"{target} is reached by a symbolic link", "choose another name")
        if target.exists() and not overwrite:
            raise Refused("refused", f"{target} exists", "choose another name, or say overwrite")
        return target


def _is_plain(part: str) -> bool:
    return part not in ("", ".", "..") and "\\" not in part and "\0" not in part and len(part) < 256


def has_link(root: Path, parts: Sequence[str]) -> bool:
    """Say whether any step of a path below a folder is a symbolic link."""
    return any(root.joinpath(*parts[: k + 1]).is_symlink() for k in range(len(parts)))


def replace_file(path: Path, data: bytes) -> None:
    """Write a file so that readers find the old one or the new one, whole. Raises Refused."""
    draft = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # One that lies there may lead elsewhere.
        draft.unlink(missing_ok=True)
        with draft.open("xb") as file:
            file.write(data)
        os.replace(draft, path)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> Refused:
    return Refused("failed", f"{path} cannot be written: {error.strerror or error}", "free space or permit it")


def _is_poses(found: Any) -> bool:
    if not isinstance(found, dict):
        return False
    for named in cast(dict[str, Any], found).values():
        if not isinstance(named, dict):
            return False
        for angles in cast(dict[str, Any], named).values():
            if not isinstance(angles, dict):
                return False
            if not all(isinstance(angle, int | float) for angle in cast(dict[str, Any], angles).values()):
                return False
    return True


def _list(known: list[str]) -> str:
    return f"there are: {', '.join(known) or 'none'}"

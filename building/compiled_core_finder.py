"""Finds the compiled core of a checkout in place of the same modules as Python, as long as they are the same.

`make fast` puts a line that calls `install` into the site-packages of its environment. A checkout of which any module
of the core differs from what was compiled runs as Python, all of it: compiled modules know each other's insides.
`NUC_PURE=1` in the environment does the same.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from types import ModuleType

_GROUP = "nuc_core__mypyc"
_PACKAGES = ("drivers.", "nuc_engine.", _GROUP)


class CompiledCoreFinder:
    """A meta path finder. `why_pure` says why the core of this process is Python; None before anything asked for it."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._wanted: dict[str, str] | None = None
        self.why_pure: str | None = None

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module of the core is, None for any other."""
        if not name.startswith(_PACKAGES):
            return None
        if self._wanted is None:
            self._wanted = self._read()
        file = name.replace(".", "/")
        if f"{file}.py" in self._wanted and self.why_pure is None:
            self.why_pure = self._differing(next(iter(path or ()), "").removesuffix(os.path.dirname(file)))
        if self.why_pure or not (f"{file}.py" in self._wanted or name == _GROUP):
            return None
        found = f"{self._folder}/{file}{EXTENSION_SUFFIXES[0]}"
        return ModuleSpec(name, loader := ExtensionFileLoader(name, found), origin=loader.path)

    def _read(self) -> dict[str, str]:
        import json  # not for every program of this environment

        try:
            with open(f"{self._folder}/wanted.json") as file:
                return json.load(file)
        except (OSError, ValueError) as error:
            self.why_pure = f"the compiled core cannot be read: {error}"
            return {}

    def _differing(self, root: str) -> str:
        """Compare what was compiled with the modules of the checkout that is imported from; say what differs."""
        import hashlib

        changed: list[str] = []
        for file, wanted in (self._wanted or {}).items():
            try:
                with open(root + file, "rb") as source:
                    same = hashlib.file_digest(source, "sha256").hexdigest() == wanted
            except OSError:
                same = False
            if not same:
                changed.append(file)
        if not changed:
            return ""
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        return f"{changed[0]}{more} changed since the core was compiled; make fast compiles it again"


def install(folder: str) -> None:
    """Let the core be found in this folder, unless this process is to do without."""
    if os.environ.get("NUC_PURE") != "1":
        sys.meta_path.insert(0, CompiledCoreFinder(folder))

"""Finds the compiled core of a checkout in place of the same modules as Python, as long as they are the same.

`make fast` puts a line that calls `install` into the site-packages of its environment. A checkout of which any module
of the core, or any that one imports, differs from what was compiled runs as Python, all of it: compiled modules know
each other's insides, and constants of what they import.
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
        self.folder = folder
        self._modules: frozenset[str] | None = None
        self._sources: dict[str, str] = {}
        self.why_pure: str | None = None

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module of the core is, None for any other."""
        if not name.startswith(_PACKAGES):
            return None
        if self._modules is None:
            self._modules = self._read()
        file = name.replace(".", "/")
        ours = f"{file}.py" in self._modules
        if ours and self.why_pure is None:
            self.why_pure = self._differing(next(iter(path or ()), "").removesuffix(os.path.dirname(file)))
        if self.why_pure or not (ours or name == _GROUP):
            return None
        return ModuleSpec(name, loader := ExtensionFileLoader(name, self._compiled(file)), origin=loader.path)

    def _compiled(self, file: str) -> str:
        return f"{self.folder}/{file}{EXTENSION_SUFFIXES[0]}"

    def _read(self) -> frozenset[str]:
        import json  # not for every program of this environment

        try:
            with open(f"{self.folder}/wanted.json") as file:
                wanted = json.load(file)
            self._sources = wanted["sources"]
            return frozenset(wanted["modules"])
        except (OSError, ValueError, KeyError) as error:
            self.why_pure = f"the compiled core cannot be read: {error}"
            return frozenset()

    def _differing(self, root: str) -> str:
        """Compare what was compiled with the modules of the checkout that is imported from; say what differs."""
        import hashlib

        parts = [_GROUP, *(file.removesuffix(".py") for file in self._modules or ())]
        if not all(os.path.exists(self._compiled(part)) for part in parts):
            return "the core was compiled for another Python; make fast compiles it for this one"
        changed: list[str] = []
        for file, wanted in self._sources.items():
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
    """Let the core be found in this folder, unless this process is to do without. Python reads .pth files twice."""
    known = [finder.folder for finder in sys.meta_path if isinstance(finder, CompiledCoreFinder)]
    if os.environ.get("NUC_PURE") != "1" and folder not in known:
        sys.meta_path.insert(0, CompiledCoreFinder(folder))

"""The compiled core: the modules of `[tool.mypy]` in pyproject.toml, made into machine code by mypyc.

    NUC_COMPILE=1 pip install .     into the wheel, beside the same modules as Python (what Hatch calls a build hook)
    python building/hatch_build.py  for this checkout (`make fast`): into build/core, found by `compiled_core_finder`

The same Python runs without any of it. Nothing is written beside the sources.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

REQUIRES = ["mypy[mypyc]>=2.4,<3", "setuptools>=65"]
CORE = "build/core"
"""Where a checkout has it; `wanted.json` there says of which sources it is, `site` is what finds it."""

_GROUP = "nuc_core"
_FINDER = "compiled_core_finder"


class CompiledCore(BuildHookInterface[Any]):
    """Adds the compiled core to a wheel where `NUC_COMPILE` is 1."""

    def dependencies(self) -> list[str]:
        """Return what compiling needs."""
        return REQUIRES if _asked() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and put what came of it into the wheel."""
        if not _asked() or version == "editable":
            return
        if lacking := lacks():
            self.app.abort(lacking)
        root = Path(self.root)
        # Left there for the wheel, which is written after this returns.
        out = Path(tempfile.mkdtemp(prefix="nuc-core-"))
        compile_core(root, out)
        build_data["force_include"] |= {str(file): str(file.relative_to(out)) for file in out.rglob("*.so")}
        build_data["pure_python"], build_data["infer_tag"] = False, True
        self._out = out

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was compiled: the wheel has it."""
        if out := getattr(self, "_out", None):
            shutil.rmtree(out)


def _asked() -> bool:
    return os.environ.get("NUC_COMPILE") == "1"


def modules(root: Path) -> list[str]:
    """Return the files of the core, relative to the root."""
    return tomllib.loads((root / "pyproject.toml").read_text())["tool"]["mypy"]["files"]


def made_of(root: Path) -> dict[str, Any]:
    """Return what a core of these sources is: its modules, and the sums of all files that what is compiled depends on.

    Those are the modules and whatever of this project they import, on and on: constants of imported modules stand in
    the machine code, and their types are taken at their word.
    """
    todo, sums = modules(root), dict[str, str]()
    while todo:
        file = todo.pop()
        if file in sums or not (root / file).is_file():
            continue
        source = (root / file).read_bytes()
        sums[file] = hashlib.sha256(source).hexdigest()
        for name in _imported(ast.parse(source)):
            path = name.replace(".", "/")
            todo += [f"{path}.py", f"{path}/__init__.py"]
    return {"modules": modules(root), "sources": dict(sorted(sums.items()))}


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def lacks() -> str:
    """Say what this machine lacks to compile, or nothing."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    headers = Path(sysconfig.get_path("include"), "Python.h")
    lines: list[str] = []
    if shutil.which(compiler) is None:
        lines.append(f"no C compiler ({compiler}): on Debian, apt-get install gcc libc6-dev")
    if not headers.exists():
        lines.append(f"no headers of Python ({headers}): on Debian, apt-get install python3-dev")
    return "; ".join(lines) and f"the core cannot be compiled: {'; '.join(lines)}. Without it nuc works as it is."


def compile_core(root: Path, out: Path) -> None:
    """Compile the core into `out`, laid out as the packages are."""
    from mypyc.build import mypycify
    from setuptools import Distribution

    with tempfile.TemporaryDirectory(prefix="nuc-core-c-") as work:
        before = Path.cwd()
        os.chdir(root)
        try:
            extensions = mypycify(
                [f"--cache-dir={work}/mypy", *modules(root)],
                opt_level="1",
                debug_level="0",
                target_dir=work,
                group_name=_GROUP,
            )
            build = Distribution({"name": _GROUP, "ext_modules": extensions}).get_command_obj("build_ext")
            build.build_lib, build.build_temp = str(out), f"{work}/objects"
            build.ensure_finalized()
            build.run()
        finally:
            os.chdir(before)


def main() -> None:
    """Compile the core for this checkout, and let the Python that runs this find it.

    --here: found only where PYTHONPATH names build/core/site. --remove: not found any more.
    """
    root = Path(__file__).resolve().parents[1]
    hook = Path(sysconfig.get_path("purelib"), f"_{_FINDER}.pth")
    if "--remove" in sys.argv:
        hook.unlink(missing_ok=True)
        return
    out = root / CORE
    wanted = made_of(root)
    if _present(out) != wanted:
        if lacking := lacks():
            sys.exit(lacking)
        print("compiling the core: about a minute", flush=True)
        _build(root, out, wanted)
    site = out / "site"
    site.mkdir(exist_ok=True)
    shutil.copy(root / "building" / f"{_FINDER}.py", site)
    (site / "sitecustomize.py").write_text(f"import {_FINDER}\n\n{_FINDER}.install({str(out)!r})\n")
    if "--here" not in sys.argv:
        # A folder for sys.path, and a line that is run: nothing happens once build/core is gone.
        found = f"os.path.isfile({str(site / f'{_FINDER}.py')!r}) and __import__({_FINDER!r}).install({str(out)!r})"
        hook.write_text(f"{site}\nimport os; {found}\n")
        subprocess.run([sys.executable, "-m", "nuc_engine.cli", "--version"], check=True, cwd=root)


def _present(out: Path) -> dict[str, Any]:
    """Return what a core that this Python can load is made of; nothing where there is none."""
    try:
        return json.loads((out / "wanted.json").read_text()) if list(out.glob(f"*{EXTENSION_SUFFIXES[0]}")) else {}
    except (OSError, ValueError):
        return {}


def _build(root: Path, out: Path, wanted: dict[str, Any]) -> None:
    """Compile, and only then put it in place of what was there: what ends this half way leaves nothing half done."""
    out.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="core-", dir=out.parent) as folder:
        made = Path(folder, "core")
        compile_core(root, made)
        if made_of(root) != wanted:
            sys.exit("a source changed while it was compiled: nothing was put in place; make fast compiles it again")
        (made / "wanted.json").write_text(json.dumps(wanted, indent=1))
        if out.exists():
            out.rename(Path(folder, "before"))
        made.rename(out)


if __name__ == "__main__":
    main()

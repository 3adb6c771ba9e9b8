"""The page's modules, run by node: what is pure in them is tested without a browser."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from nuc_engine.ui.server import WEB

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="NO NODE: the page's modules were not run (Debian: nodejs)")


def run(code: str, *given: Any) -> Any:
    """Run a module's text; return what it hands to `told`. `given` holds what is handed in.

    `{module}` in imports is the page's folder.
    """
    assert NODE is not None
    head = f"const given = {json.dumps(given)}; const told = (value) => console.log(JSON.stringify(value));\n"
    done = subprocess.run(
        [NODE, "--input-type=module"],
        input=head + code.replace("{web}", Path(WEB).as_uri()),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)

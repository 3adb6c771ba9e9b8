from __future__ import annotations

from pathlib import Path

import pytest

from nuc_engine.bout.run import BoutSpec, run_bout
from tests.diagrams.legs import ROOT

SCRIPT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE hdsoscript SYSTEM "hdsoscript.dtd">
<hdsoscript name="short" ScriptType="LegScript">
  <hdsoMod idNum="165" name="Enter_FT_Extension"
      NumElts="23" datatype="char" time="2">(302 &lt; 108)&amp;(307 &gt; 107)</hdsoMod>
  <hdsoMod idNum="166" name="Enter_FT_Flexion"
      NumElts="23" datatype="char" time="2">(302 &gt; 106)|(307 &lt; 109)</hdsoMod>
</hdsoscript>
"""


@pytest.fixture(scope="session")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data of four seconds of the cockroach leg, its knee's rules reversed half way; not to be changed."""
    place = tmp_path_factory.mktemp("walked")
    (place / "short.xml").write_text(SCRIPT)
    spec = BoutSpec(str(ROOT / "configs" / "lin_roach"), place / "data", str(place / "short.xml"), 4.0, seed=5)
    result = run_bout(spec)
    assert result.state == "complete"
    return result.folder

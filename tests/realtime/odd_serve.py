"""`nuc serve` with something made smaller than it is, so that its limits are reached in seconds.

python -m tests.realtime.odd_serve '{"records_kib": 64}' serve CONFIG ...
"""

from __future__ import annotations

import json
import sys
from types import MappingProxyType

from nuc_engine.cli import main
from nuc_engine.daemon import block

if __name__ == "__main__":
    odd = json.loads(sys.argv.pop(1))
    block.RING_BYTES = MappingProxyType({**block.RING_BYTES, "records": odd["records_kib"] << 10})
    sys.exit(main())

"""A file that holds a token, for its owner alone."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from nuc_engine.ui.access import TOKEN_S


class KeptFile(NamedTuple):
    """Where it is, and what writes it anew at once."""

    path: Path
    renew: Callable[[], None]


@contextmanager
def kept_file(name: str, written: Callable[[], str]) -> Generator[KeptFile]:
    """Keep a file, in a new folder, for its owner alone, and write it anew before a token in it is too old."""
    root = os.environ.get("XDG_RUNTIME_DIR")
    with tempfile.TemporaryDirectory(prefix="nuc-ui-", dir=root if root and Path(root).is_dir() else None) as folder:
        page, ended = Path(folder, name), threading.Event()

        def renew() -> None:
            new = page.with_suffix(".new")
            with open(
                os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8", newline="\n"
            ) as file:
                file.write(written())
            new.replace(page)

        def keep() -> None:
            while not ended.wait(TOKEN_S / 3):
                with suppress(OSError):
                    renew()

        renew()
        keeper = threading.Thread(target=keep, daemon=True)
        keeper.start()
        try:
            yield KeptFile(page, renew)
        finally:
            ended.set()
            keeper.join()

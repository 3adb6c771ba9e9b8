"""The terminal: the whole of it, keys as they are pressed, lines where they belong. The only module that touches it."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import sys
from collections.abc import Generator, Mapping, Sequence
from types import MappingProxyType

import click

from nuc_engine.cli.terminal.ink import Ink

if sys.platform != "win32":
    import termios
    import tty

_ESCAPES: Mapping[str, str] = MappingProxyType(
    {
        "[A": "up",
        "[B": "down",
        "[C": "right",
        "[D": "left",
        "OA": "up",
        "OB": "down",
        "OC": "right",
        "OD": "left",
        "[1;2C": "shift-right",
        "[1;2D": "shift-left",
        "[c": "shift-right",
        "[d": "shift-left",
        "[5~": "page-up",
        "[6~": "page-down",
        "[Z": "up",
    }
)
_PLAIN: Mapping[str, str] = MappingProxyType(
    {"\r": "enter", "\n": "enter", "\t": "tab", "\x7f": "backspace", "\x08": "backspace", "\x15": "clear"}
)


class Keys:
    """Turns the bytes a terminal sends into names of keys; bytes that belong together may come apart."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes, *, more: bool = False) -> list[str]:
        """Return the keys in these bytes. `more`: an escape at the end may be the beginning of something."""
        data, self._rest = self._rest + data, b""
        keys: list[str] = []
        while data:
            if data[0] != 0x1B:
                size = _size(data[0])
                if size > len(data) and more:
                    break
                text = data[:size].decode(errors="ignore")
                keys += [_PLAIN.get(text, text)] if text else []
                data = data[size:]
                continue
            size = _escape(data)
            if size == 0:
                if more:
                    break
                keys.append("escape")
                data = data[1:]
                continue
            found = _ESCAPES.get(data[1:size].decode(errors="replace"))
            keys += [found] if found else []
            data = data[size:]
        self._rest = data
        return keys

    @property
    def unfinished(self) -> bool:
        """Whether something was begun."""
        return bool(self._rest)


def _escape(data: bytes) -> int:
    """Return the length of the escape sequence data begins with; 0 where it is not whole, or a lone escape."""
    if len(data) < 2:
        return 0
    if data[1:2] == b"O":
        return 3 if len(data) >= 3 else 0
    if data[1:2] != b"[":
        return 0
    for k in range(2, len(data)):
        if 0x40 <= data[k] <= 0x7E:
            return k + 1
    return 0


def _size(first: int) -> int:
    return 4 if first >= 0xF0 else 3 if first >= 0xE0 else 2 if first >= 0xC0 else 1


class Terminal:
    """A terminal that is ours: draw lines, read keys."""

    def __init__(self) -> None:
        self._keys = Keys()

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows; the last column stays free: erasing the rest of a line would take it."""
        size = shutil.get_terminal_size()
        return size.columns - 1, size.lines

    def draw(self, lines: Sequence[str]) -> None:
        """Show these lines, from the top."""
        click.echo("\x1b[H" + "\x1b[K\r\n".join(lines) + "\x1b[K\x1b[J", nl=False, color=True)

    def keys(self, timeout_s: float) -> list[str]:
        """Return the keys pressed within this time; as soon as there are any."""
        fd = sys.stdin.fileno()
        if not select.select([fd], [], [], timeout_s)[0]:
            return self._keys.feed(b"")
        data = b""
        with contextlib.suppress(OSError):  # the window is closed
            data = os.read(fd, 1024)
        if not data:
            return ["q"]
        keys = self._keys.feed(data, more=True)
        # A lone escape is told from the beginning of a sequence by nothing following it.
        if self._keys.unfinished and not select.select([fd], [], [], 0.03)[0]:
            keys += self._keys.feed(b"")
        return keys


def usable() -> bool:
    """Say whether there is a terminal to draw on and to read keys from, by POSIX's means."""
    return (
        sys.platform != "win32"
        and sys.stdin.isatty()
        and sys.stdout.isatty()
        and os.environ.get("TERM", "dumb") != "dumb"
    )


@contextlib.contextmanager
def terminal() -> Generator[Terminal]:
    """Take the whole terminal, without echo, cursor and line wrapping, and give it back as it was."""
    if sys.platform == "win32":
        raise OSError("no terminal of POSIX on this system")
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    tty.setcbreak(fd)
    click.echo("\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J", nl=False, color=True)
    try:
        yield Terminal()
    finally:
        # A window that was closed has nothing to be given back.
        with contextlib.suppress(OSError, termios.error):
            click.echo("\x1b[?7h\x1b[?25h\x1b[?1049l", nl=False, color=True)
            termios.tcsetattr(fd, termios.TCSADRAIN, before)


def ink(color: bool | None) -> Ink:
    """Return how to style; without colours where the user wants none, what is chosen still stands out."""

    def chosen(text: str) -> str:
        return click.style(text, reverse=True)

    if color is False:
        return Ink(str, chosen, str, str, str, str)
    return Ink(
        title=lambda text: click.style(text, bold=True),
        chosen=chosen,
        true=lambda text: click.style(text, fg="green", bold=True),
        false=lambda text: click.style(text, fg="red"),
        faint=lambda text: click.style(text, dim=True),
        alarm=lambda text: click.style(text, fg="red", bold=True),
    )

"""Small PNG files: lines on white in the colours of the figure's own pens, and tints of them for the edges of lines."""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import to_rgba_array
from PIL import Image

from nuc_engine.analysis.tracks import IntArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 120
_TINTS = (1.0, 0.8, 0.6, 0.4, 0.2)
"""How much of a pen's colour there is in the colours a PNG keeps, the rest being white."""


def save_small(figure: Figure, path: Path) -> Path:
    """Write a PNG of few colours, without metadata: equal data give equal bytes. Returns its path.

    The colours are those of the figure's pens, and tints of them for the edges of lines.
    """
    whole = io.BytesIO()
    figure.savefig(whole, format="png", dpi=DPI, metadata={"Software": None})
    whole.seek(0)
    with Image.open(whole) as image:
        pixels = np.asarray(image.convert("RGB"))
    found, which = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True)
    kept = _kept_colors(figure)
    nearest = np.argmin(((found[:, None, :].astype(np.int64) - kept) ** 2).sum(axis=2), axis=1).astype(np.uint8)
    few = Image.fromarray(nearest[which.ravel()].reshape(pixels.shape[:2]), mode="P")
    few.putpalette(kept.ravel().tolist())
    few.save(path, format="PNG", optimize=True)
    return path


def _kept_colors(figure: Figure) -> IntArray:
    """Return red, green and blue (0 to 255) of the colours to keep, white first, shape (n, 3), 256 at most."""
    pens: dict[tuple[float, ...], None] = {}
    for artist in figure.findobj():
        for name in ("get_facecolor", "get_edgecolor", "get_color", "get_markerfacecolor"):
            if (tell := getattr(artist, name, None)) is not None:
                pens |= {tuple(pen[:3]): None for pen in to_rgba_array(tell()).tolist()}
    tints = [[1.0 - tint * (1.0 - part) for part in pen] for tint in _TINTS for pen in pens]
    levels = np.rint(255 * np.array([[1.0, 1.0, 1.0], *tints])).astype(np.int64)
    first = np.sort(np.unique(levels, axis=0, return_index=True)[1])
    return levels[first][:256]

"""The picture of docs/architecture.md, made from the imports of the code.

    python -m benchmarks.architecture          writes docs/architecture.svg

Packages stand on floors: each above all it imports. Of the arrows those are drawn that no other path implies.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Mapping
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "architecture.svg"
OUTSIDE = ("drivers", "sccils_schemas")
WIDTH, HEIGHT, BOX, TALL = 1080, 84, 124, 40
STYLE = (
    "text{font:13px sans-serif;text-anchor:middle;fill:#111}text.n{font-size:10px;fill:#555}"
    "rect{fill:#f4f1ea;stroke:#555;rx:5}rect.o{fill:#e2ecf4}path{fill:none;stroke:#999}"
)


def room(module: str) -> str:
    """Return the package a module is in: one of the engine's, the drivers or the language."""
    top, _, rest = module.partition(".")
    return rest.partition(".")[0] if top == "nuc_engine" else top


def arrows() -> dict[str, set[str]]:
    """Return which packages each package imports; the engine's by their name in it."""
    found: dict[str, set[str]] = {name: set() for name in OUTSIDE}
    for top in ("nuc_engine", *OUTSIDE):
        for path in sorted((ROOT / top).rglob("*.py")):
            here = room(".".join(path.relative_to(ROOT).with_suffix("").parts))
            if here == "__init__" or not here:
                continue
            used = found.setdefault(here, set())
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module:
                    names = [f"{node.module}.{name.name}" for name in node.names]
                    used |= {room(name) for name in names if name.split(".")[0] in ("nuc_engine", *OUTSIDE)}
            used -= {here, ""}
    return {name: used & found.keys() for name, used in found.items()}


def floors(uses: Mapping[str, set[str]]) -> dict[str, int]:
    """Return the floor of each package: one above the highest of what it imports. Raises CycleError for a circle."""
    floor: dict[str, int] = {}
    for name in TopologicalSorter(uses).static_order():
        floor[name] = 1 + max((floor[used] for used in uses[name]), default=-1)
    return floor


def needed(uses: Mapping[str, set[str]]) -> list[tuple[str, str]]:
    """Return the arrows that no longer path implies."""
    below: dict[str, set[str]] = {}
    for name in TopologicalSorter(uses).static_order():
        below[name] = uses[name].union(*(below[used] for used in uses[name]))
    return sorted(
        (name, used) for name in uses for used in uses[name] if not any(used in below[other] for other in uses[name])
    )


def lines_of(name: str) -> int:
    """Return how many lines of Python a package has."""
    folder = ROOT / name if name in OUTSIDE else ROOT / "nuc_engine" / name
    return sum(path.read_text(encoding="utf-8").count("\n") for path in folder.rglob("*.py"))


def drawn() -> str:
    """Return the picture."""
    uses = arrows()
    floor = floors(uses)
    rows: dict[int, list[str]] = defaultdict(list)
    for name in sorted(uses):
        rows[floor[name]].append(name)
    place: dict[str, tuple[float, float]] = {}
    for level in sorted(rows):
        # Each near what it stands on, in the order of that.
        def over(name: str) -> float:
            return sum(place[used][0] for used in uses[name]) / len(uses[name]) if uses[name] else WIDTH / 2

        for k, name in enumerate(sorted(rows[level], key=lambda name: (over(name), name))):
            place[name] = (WIDTH * (k + 1) / (len(rows[level]) + 1), (max(rows) - level) * HEIGHT + TALL)
    parts = [_arrow(place[name], place[used]) for name, used in needed(uses)]
    parts += [_box(name, *place[name]) for name in sorted(place)]
    size = f'width="{WIDTH}" height="{max(rows) * HEIGHT + 2 * TALL}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>\n' + "\n".join(parts) + "\n</svg>\n"


def _arrow(above: tuple[float, float], below: tuple[float, float]) -> str:
    (x, y), (u, v) = (above[0], above[1] + TALL / 2), (below[0], below[1] - TALL / 2)
    return f'<path d="M{x:.0f} {y:.0f}C{x:.0f} {y + 30:.0f} {u:.0f} {v - 30:.0f} {u:.0f} {v:.0f}"/>'


def _box(name: str, x: float, y: float) -> str:
    kind = ' class="o"' if name in OUTSIDE else ""
    corner = f'x="{x - BOX / 2:.0f}" y="{y - TALL / 2:.0f}" width="{BOX}" height="{TALL}"'
    thousands = f"{lines_of(name) / 1000:.1f}k lines"
    return (
        f'<rect{kind} {corner}/><text x="{x:.0f}" y="{y - 2:.0f}">{name}</text>'
        f'<text class="n" x="{x:.0f}" y="{y + 13:.0f}">{thousands}</text>'
    )


def main() -> None:
    """Draw the picture."""
    PICTURE.write_text(drawn(), encoding="utf-8", newline="\n")
    floor = floors(arrows())
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)}: {len(floor)} packages, {1 + max(floor.values())} floors\n")


if __name__ == "__main__":
    main()

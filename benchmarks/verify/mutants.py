"""Mutants: the engine's source with one token changed, or one statement left out, chosen by a seed."""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise, zip_longest
from pathlib import Path
from types import CodeType, ModuleType

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
TARGETS = (
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "nuc_engine/control/tasks").glob("*.py")),
    "nuc_engine/control/functions.py",
    "nuc_engine/control/rulebook.py",
    "nuc_engine/control/dispatcher.py",
)
COMPARISONS = {"<": "<= >", "<=": "< >=", ">": ">= <", ">=": "> <=", "==": "!=", "!=": "=="}
ARITHMETIC = {"+": "-", "-": "+", "*": "/ +", "/": "*", "//": "*", "%": "*", "**": "*"}
LOGIC = {"and": "or", "or": "and", "True": "False", "False": "True", "min": "max", "max": "min", "any": "all"}
"""What a token is replaced by, one of these at a time."""
SIMILAR = 0.4
"""How much alike two names must be to be taken for each other."""

NOT_COMPUTED = {
    ("control/dispatcher.py", "self._script_entry.release_ns = self.script.due_ns", "pass", "daemon"): (
        "for when a client's changeset was asked stands in no record"
    ),
    ("control/tasks/script.py", "return len(self._ahead)", "pass", "daemon"): (
        "for what a client asked and the core refused stands in no record; the client is told"
    ),
    ("control/tasks/script.py", "<=", ">=", "daemon"): (
        "for what a client asked and was never made stands in no record; the client waits for its acknowledgement"
    ),
}
"""What changes a bout in a way that no record tells: module, statement, what stands there instead, bout; and why."""

_Place = tuple[int, int]
_Change = tuple[str, int, int, str]
"""Kind, first and last character (from 0, the last not included), what stands there then."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: of which kind, in which file and line, at which characters, what was there and what is now."""

    kind: str
    file: str
    line: int
    begin: int
    end: int
    before: str
    after: str

    @property
    def module(self) -> str:
        """The module's name."""
        return self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def source(self) -> str:
        """Return the module's source with the change."""
        text = (ROOT / self.file).read_text(encoding="utf-8")
        return text[: self.begin] + self.after + text[self.end :]

    def install(self) -> None:
        """Let the module be imported so from now on, in this process."""
        sys.meta_path.insert(0, _Finder(self))


def all_mutants(files: Sequence[str] = TARGETS) -> list[Mutant]:
    """Return every mutant of these files that compiles, in the order of the source."""
    found: list[Mutant] = []
    for file in files:
        source = _Source((ROOT / file).read_text(encoding="utf-8"))
        for kind, begin, end, after in sorted(source.changes(), key=lambda change: change[1:]):
            before = source.text[begin:end]
            mutant = Mutant(kind, file, source.text.count("\n", 0, begin) + 1, begin, end, before, after)
            if before != after and _compiles(mutant):
                found.append(mutant)
    return found


def chosen(seed: int) -> list[Mutant]:
    """Return all mutants in an order of chance: of each kind one in turn, so that no kind outweighs the others."""
    draw = np.random.default_rng(seed)
    kinds: dict[str, list[Mutant]] = {}
    for mutant in all_mutants():
        kinds.setdefault(mutant.kind, []).append(mutant)
    shuffled = [[mutants[k] for k in draw.permutation(len(mutants))] for mutants in kinds.values()]
    return [mutant for row in zip_longest(*shuffled) for mutant in row if mutant is not None]


def _compiles(mutant: Mutant) -> bool:
    try:
        compile(mutant.source(), mutant.file, "exec")
    except SyntaxError:
        return False
    return True


class _Source:
    """One module's source and its places."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.tree = ast.parse(text)
        self.attributes: dict[str, set[str]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute):
                self.attributes.setdefault(ast.unparse(node.value), set()).add(node.attr)

    def changes(self) -> Iterator[_Change]:
        """Yield what can be changed: in functions, and in the values of constants."""
        for node in self.tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                yield from self._within(node.value, set())
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef) and not self._is_stub(node):
                names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
                names |= {a.arg for a in (*node.args.args, *node.args.kwonlyargs)}
                for statement in node.body:
                    yield from self._within(statement, names)

    @staticmethod
    def _is_stub(node: ast.FunctionDef) -> bool:
        last = node.body[-1]
        return isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant)

    def _within(self, node: ast.AST, names: set[str]) -> Iterator[_Change]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            return  # a place of its own
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        yield from self._of(node, names)
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        yield from self._within(child, names)

    def _of(self, node: ast.AST, names: set[str]) -> Iterator[_Change]:
        yield from self._operators(node)
        match node:
            case ast.Constant(bool()) | ast.Name("min" | "max" | "any"):
                begin, end = self._at(node)
                yield "logic", begin, end, LOGIC[self.text[begin:end]]
            case ast.Constant(int() | float() as value):
                for other in (value + 1, value * 2, value - 1) if isinstance(value, int) else (value * 2, value + 0.01):
                    yield "constant", *self._at(node), repr(other)
            case ast.Name(name, ast.Load()) if name in names - {"self"}:
                for other in _near(name, names - {"self"}):
                    yield "name", *self._at(node), other
            case ast.Attribute(value, name):
                end = self._at(node)[1]
                for other in _near(name, self.attributes[ast.unparse(value)]):
                    yield "name", end - len(name), end, other
            case ast.Assign() | ast.AugAssign() | ast.Expr() | ast.Continue() | ast.Break() | ast.Return():
                yield "deletion", *self._at(node), "pass"
            case _:
                pass

    def _operators(self, node: ast.AST) -> Iterator[_Change]:
        match node:
            case ast.Compare(left, _, comparators):
                for a, b in zip((left, *comparators), comparators, strict=False):
                    yield from self._between("comparison", a, b, COMPARISONS)
            case ast.BinOp(left, _, right):
                yield from self._between("arithmetic", left, right, ARITHMETIC)
            case ast.BoolOp(_, values):
                for a, b in pairwise(values):
                    yield from self._between("logic", a, b, LOGIC)
            case ast.AugAssign(target, _, value):
                yield from self._between("arithmetic", target, value, {"+=": "-=", "-=": "+=", "*=": "+=", "|=": "&="})
            case ast.UnaryOp(ast.USub() | ast.Not(), operand):
                yield "logic", self._at(node)[0], self._at(operand)[0], ""
            case _:
                pass

    def _between(self, kind: str, left: ast.AST, right: ast.AST, swaps: dict[str, str]) -> Iterator[_Change]:
        begin, end = self._at(left)[1], self._at(right)[0]
        between = self.text[begin:end]
        token = between.strip("() \n\t")
        if token in swaps:
            at = begin + between.index(token)
            for other in swaps[token].split(" "):
                yield kind, at, at + len(token), other

    def _at(self, node: ast.AST) -> _Place:
        line, column, last, end = (getattr(node, n) for n in ("lineno", "col_offset", "end_lineno", "end_col_offset"))
        a, b = (self.lines[number - 1].encode()[:offset].decode() for number, offset in ((line, column), (last, end)))
        return self.starts[line - 1] + len(a), self.starts[last - 1] + len(b)


def _near(name: str, names: set[str]) -> list[str]:
    likeness = {other: SequenceMatcher(None, name, other).ratio() for other in sorted(names - {name})}
    return sorted((n for n in likeness if likeness[n] >= SIMILAR), key=lambda n: -likeness[n])[:2]


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the one module that was changed."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the changed module where it is asked for."""
        del path, target
        if fullname != self._mutant.module:
            return None
        file = ROOT / self._mutant.file
        inside = [str(file.parent)] if file.name == "__init__.py" else None
        loader = _Loader(self._mutant, fullname, str(file))
        return importlib.util.spec_from_file_location(fullname, file, loader=loader, submodule_search_locations=inside)


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads it from the changed source."""

    def __init__(self, mutant: Mutant, fullname: str, path: str) -> None:
        super().__init__(fullname, path)
        self._mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        """Return the changed code; nothing is kept of it."""
        return compile(self._mutant.source(), self.get_filename(fullname), "exec")

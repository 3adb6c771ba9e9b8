"""From bytes or files to typed documents, with everything that is wrong reported in one go.

A document's bytes pass a gate (`xmlread`), and lxml says whether it is one (`judge`). Only of one that it refuses is
it found out what is wrong and where, by a walk along its grammar (`grammar`). Then it is read into dataclasses
(`elements`). Nothing but `Problems` ever comes out of a bad one. What documents mean together is checked in `model`.
"""

from __future__ import annotations

from sccils_schemas.documents import Command, CommandResponse, CommandScript, ConfigCommand, Document
from sccils_schemas.elements import read
from sccils_schemas.grammar import check, load_grammar
from sccils_schemas.judge import judge
from sccils_schemas.names import did_you_mean, shorten
from sccils_schemas.problems import Problems
from sccils_schemas.reader import Reader
from sccils_schemas.versions import check_delays
from sccils_schemas.xmlread import GRAMMAR_OF_ROOT, Node, SourceText, open_document


def parse(data: bytes, file: str = "<document>") -> tuple[Document | None, Problems]:
    """Return the document in these bytes, and all problems; None when any of them is an error.

    `file` is the name problems are reported under, and the document's `source`.
    """
    problems = Problems()
    document = read_document(data, file, problems)
    return (document if problems.ok else None), problems


def read_document(data: bytes, file: str, problems: Problems, root: str | None = None) -> Document | None:
    """Return as much of a document as can be read, problems noted; None when nothing can be.

    With errors among the problems the document has stand-ins where values are missing or bad: it serves further
    checks, and must not be used. `root` is the root element that is wanted.
    """
    source = open_document(data, file, problems)
    tree = None if source is None else _tree(source, file, problems, root)
    if source is None or tree is None:
        return None
    reader = Reader(file, problems)
    if "@" in source.text:
        check_delays(reader, tree)
    found = read(reader, tree)
    if isinstance(found, Command | CommandResponse | ConfigCommand):
        return CommandScript((found,), source=file)
    return found


def _tree(source: SourceText, file: str, problems: Problems, root: str | None) -> Node | None:
    """Return a document's root element, everything that its grammar does not allow reported and taken out."""
    verdict = None if source.unusual else judge(source)
    tree = verdict if isinstance(verdict, Node) else source.read(file, problems)
    if tree is None:
        return None
    source.check_doctype(tree.tag, file, problems)
    if tree.tag not in GRAMMAR_OF_ROOT or (root is not None and tree.tag != root):
        wanted = [root] if root else list(GRAMMAR_OF_ROOT)
        expected = " or ".join(f"<{name}>" for name in wanted)
        hint = did_you_mean(tree.tag, wanted)
        problems.error(file, tree.line, f"the root element is <{shorten(tree.tag)}>", expected, hint)
        return None
    if tree is not verdict and not check(tree, load_grammar(GRAMMAR_OF_ROOT[tree.tag]), file, problems):
        verdict = verdict or judge(source)
        if not isinstance(verdict, Node):
            problems.error(file, *verdict)
    return tree

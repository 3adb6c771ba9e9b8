"""From bytes or files to typed documents, with everything that is wrong reported in one go.

A document is read (`xmlread`), held against its grammar (`grammar`), and built; nothing but `Problems` ever comes out
of a bad one. What documents mean together is checked in `model`.
"""

from __future__ import annotations

from pathlib import Path

from sccils_schemas.documents import Document
from sccils_schemas.grammar import GRAMMAR_OF_ROOT, check, load_grammar
from sccils_schemas.names import did_you_mean, shorten
from sccils_schemas.parse_commands import build_commandscript
from sccils_schemas.parse_hdsos import build_hdsolist
from sccils_schemas.parse_joints import build_jointlist
from sccils_schemas.parse_scripts import build_hdsoscript
from sccils_schemas.problems import Problems
from sccils_schemas.reader import Reader
from sccils_schemas.xmlread import Node, read_file, read_xml


def parse(data: bytes, file: str = "<document>") -> tuple[Document | None, Problems]:
    """Return the document in these bytes, and all problems; None when any of them is an error.

    `file` is the name problems are reported under, and the document's `source`.
    """
    problems = Problems()
    document = read_document(data, file, problems)
    return (document if problems.ok else None), problems


def parse_file(path: Path) -> tuple[Document | None, Problems]:
    """Return the document in a file, and all problems; None when any of them is an error."""
    problems = Problems()
    data = read_file(path, problems)
    document = None if data is None else read_document(data, str(path), problems)
    return (document if problems.ok else None), problems


def read_document(data: bytes, file: str, problems: Problems, root: str | None = None) -> Document | None:
    """Return as much of a document as can be read, problems noted; None when nothing can be.

    With errors among the problems the document has stand-ins where values are missing or bad: it serves further
    checks, and must not be used. `root` is the root element that is wanted.
    """
    tree = read_xml(data, file, problems)
    if tree is None:
        return None
    if tree.tag not in GRAMMAR_OF_ROOT or (root is not None and tree.tag != root):
        wanted = [root] if root else list(GRAMMAR_OF_ROOT)
        expected = " or ".join(f"<{name}>" for name in wanted)
        hint = did_you_mean(tree.tag, wanted)
        problems.error(file, tree.line, f"the root element is <{shorten(tree.tag)}>", expected, hint)
        return None
    grammar = load_grammar(GRAMMAR_OF_ROOT[tree.tag])
    check(tree, grammar, file, problems)
    return _build(tree, Reader(grammar, file, problems), file)


def _build(tree: Node, reader: Reader, file: str) -> Document:
    if tree.tag == "jointlist":
        return build_jointlist(tree, reader, file)
    if tree.tag == "hdsolist":
        return build_hdsolist(tree, reader, file)
    if tree.tag == "hdsoscript":
        return build_hdsoscript(tree, reader, file)
    return build_commandscript(tree, reader, file)

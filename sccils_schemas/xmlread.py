"""Reading XML from anyone: bounded in time and memory, nothing but the given bytes is ever opened.

What is refused, each with one clear line: more than `MAX_BYTES`; anything but a regular file; NUL; bytes that are not
the encoding they claim to be (UTF-8 with or without byte order mark, ASCII, ISO-8859-1; UTF-16 and others are refused);
internal subsets, and with them every entity and parameter entity; document types other than SCCILS's own; more than
`MAX_DEPTH`, `MAX_ELEMENTS`, `MAX_TAG`, `MAX_ATTRIBUTES`, `MAX_ATTRIBUTE_BYTES`.

The three DOCTYPE forms NeuRoMod's files have (a path in /usr/local/src/romod_dtds, a bare file name, PUBLIC with the
address at roach.biol.cwru.edu) and none at all mean the built-in grammar (reading F1). `judge` has lxml read what has
passed the gate. Expat reads what lxml refuses, what may be beyond a limit, and what a message is to name the lines of:
it streams, never recurses, never opens anything, and knows where an element *starts*.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from sccils_schemas.lines import ElementLayout, ElementLine, Spread, attribute_spread
from sccils_schemas.names import did_you_mean, shorten
from sccils_schemas.problems import Problems

JOINTS_FILE, PARAMETERS_FILE, SENSORS_FILE = "joints.xml", "parameters.xml", "sensors.xml"
MODEL_FILES = (JOINTS_FILE, PARAMETERS_FILE, SENSORS_FILE)
"""The files a configuration's folder holds."""

MAX_BYTES = 8 * 1024 * 1024
"""Largest document, in bytes."""
MAX_DEPTH = 24
"""Deepest nesting of elements; SCCILS needs seven."""
MAX_ELEMENTS = 100_000
"""Most elements in one document."""
MAX_ATTRIBUTES = 32
"""Most attributes of one element."""
MAX_ATTRIBUTE_BYTES = 8192
"""Longest attribute value, in bytes of UTF-8."""
MAX_TAG = 65_536
"""Longest start tag, in characters. Expat reads one whole before it tells of it: a longer one is refused unread."""
MAX_LINES = 65_000
"""Most lines of a document whose elements lxml knows the lines of."""
MAX_TAG_LINES = 256
"""Lines of one tag on which its attributes are told apart."""

GRAMMAR_OF_ROOT = {
    "jointlist": "jointlist",
    "hdsolist": "hdsolist",
    "hdsoscript": "hdsoscript",
    "sccils_commandscript": "commandscript",
    "sccils_command": "commandscript",
    "sccils_command_response": "commandscript",
    "sccils_config_command": "commandscript",
}
"""Root element -> name of the grammar in `rng/`."""

DTD_OF_ROOT = {
    "jointlist": "sccils_joint.dtd",
    "hdsolist": "hdso.dtd",
    "hdsoscript": "hdsoscript.dtd",
    "sccils_commandscript": "sccils_commandscript.dtd",
    "sccils_command": "sccils_commandscript.dtd",
    "sccils_command_response": "sccils_commandscript.dtd",
    "sccils_config_command": "sccils_commandscript.dtd",
}
"""Root element -> its document type definition's file name."""

_HISTORICAL = re.compile(r"(?:/usr/local/src/romod_dtds/|http://roach\.biol\.cwru\.edu/romod[-_]dtds/)?([a-z_]+\.dtd)")
_DECLARED_ENCODING = re.compile(rb"""<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")
_DECLARATION = re.compile(
    r"""<\?xml\s+version\s*=\s*(["'])1\.[0-9]+\1(\s+encoding\s*=\s*(["'])[A-Za-z][A-Za-z0-9._-]*\3)?"""
    r"""(\s+standalone\s*=\s*(["'])(yes|no)\5)?\s*\?>"""
)
_UNUSUAL = re.compile(
    rf"""=\s*(?:"[^"<]{{{MAX_ATTRIBUTE_BYTES // 4}}}|'[^'<]{{{MAX_ATTRIBUTE_BYTES // 4}}})|<\?[!-~]*[^\x00-\x7f]"""
)
"""A long attribute, or a processing instruction with a name of letters that expat knows fewer of than lxml."""
_START_TAG = re.compile(rb"""<[^\s/>]+(?:\s+[^\s=]+\s*=\s*(?:"[^"]*"|'[^']*'))*""")
_TAG = re.compile(r"""<[^\s<>/!?"'][^<>"']*+(?:"[^<"]*+"[^<>"']*+|'[^<']*+'[^<>"']*+)*+""")
_BROKEN_TAG = re.compile(
    r"""<!--[^-]*+(?:-[^-]++)*+-->|<!\[CDATA\[(?s:.*?)\]\]>|<\?(?s:.*?)\?>"""
    r"""|(<(?=[^\s<>/!?"'](?:[^<>"'\n]++|"[^"<\n]*+"|'[^'<\n]*+')*+(?:"[^"<\n]*+|'[^'<\n]*+)?\n)"""
    r"""(?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+>)"""
)
_ATTRIBUTE = re.compile(rb"""\s([^\s=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"<\x00", b"\x00<")


@dataclass(slots=True)
class Node:
    """One element: tag, attributes, the line it starts on, children, and its text in pieces (see `ElementLayout`)."""

    tag: str
    attributes: dict[str, str]
    line: ElementLine
    children: list[Node] = field(default_factory=list["Node"])
    pieces: list[str] = field(default_factory=lambda: [""])

    @property
    def text(self) -> str:
        """The element's own text as it stands, comments left out."""
        return "".join(self.pieces)

    @property
    def words(self) -> str:
        """The element's own text for number lists: a comment separates numbers as white space does (reading B17)."""
        return " ".join(self.pieces)


def read_file(path: Path, problems: Problems) -> bytes | None:
    """Return a document's bytes, or None with the problem noted. Never reads more than `MAX_BYTES` + 1 bytes."""
    name = str(path)
    try:
        # O_NONBLOCK: opening a named pipe must not wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        problems.error(name, 0, "there is no such file", hint=_neighbour(path))
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        problems.error(name, 0, f"cannot be read: {reason}")
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        problems.error(name, 0, "is not a file", "an XML document")
        return None
    try:
        with os.fdopen(descriptor, "rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        problems.error(name, 0, f"cannot be read: {error.strerror}")
        return None


def _neighbour(path: Path) -> str:
    try:
        return did_you_mean(path.name, (other.name for other in path.parent.iterdir()))
    except OSError:
        return ""


def open_document(data: bytes, file: str, problems: Problems) -> SourceText | None:
    """Return a document that has passed the gate, or None with the problem noted under `file`."""
    try:
        return SourceText(data)
    except _RefusedError as refused:
        problems.error(file, refused.line, refused.what, refused.expected, refused.hint)
    return None


def read_xml(data: bytes, file: str, problems: Problems) -> Node | None:
    """Return the root element of a document, or None with the problem noted under `file`."""
    source = open_document(data, file, problems)
    return None if source is None else source.read(file, problems)


class _RefusedError(Exception):
    def __init__(self, line: int, what: str, expected: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.line, self.what, self.expected, self.hint = line, what, expected, hint


class SourceText:
    """The text of a document whose bytes have passed the gate: decoded, its lines ended alike, its DOCTYPE blanked out.

    An `unusual` one is walked over before lxml sees it: it may be beyond a limit that is watched while it is read, has
    more lines than lxml tells apart, or what expat and lxml do not take alike, which a message would have to name.
    """

    def __init__(self, data: bytes) -> None:
        if len(data) > MAX_BYTES:
            limit = f"at most {MAX_BYTES // 2**20} MiB"
            raise _RefusedError(0, "the document is too large", limit, "nothing of it was parsed")
        # XML takes every kind of line end for one line feed; so do the lines that are counted here.
        text = _decode(data).replace("\r\n", "\n").replace("\r", "\n")
        if text[:5] == "<?xml" and text[5:6].isspace() and not _DECLARATION.match(text):
            raise _RefusedError(1, "not well-formed XML: XML declaration not well-formed")
        _check_tags(text)
        self._doctype: tuple[str, str | None, int] | None = None
        self._layouts: list[ElementLayout] | None = None
        self.text = self._without_doctype(text) if "<!DOCTYPE" in text else text
        self.unusual = self._is_unusual()

    def _is_unusual(self) -> bool:
        text = self.text
        tags = text.count("<") - text.count("</")
        large = tags > MAX_ELEMENTS or text.count("=") > MAX_ATTRIBUTES * tags or text.count("\n") > MAX_LINES
        return large or "xmlns" in text or "<!DOCTYPE" in text or _UNUSUAL.search(text) is not None

    def read(self, file: str, problems: Problems) -> Node | None:
        """Return the root element as expat reads it, or None with the problem noted under `file`."""
        reader = _Reader(self)
        try:
            root = reader.read(self.text)
        except _RefusedError as refused:
            problems.error(file, refused.line, refused.what, refused.expected, refused.hint)
            return None
        except expat.ExpatError as error:
            problems.error(file, error.lineno, *reader.explain(error))
            return None
        self._layouts = reader.layouts
        return root

    @property
    def layouts(self) -> Sequence[ElementLayout]:
        """Where the parts of its elements stand."""
        if self._layouts is None:
            reader = _Reader(self)
            reader.read(self.text)
            self._layouts = reader.layouts
        return self._layouts

    def starts(self) -> dict[int, int]:
        """Return the line each tag of several lines begins on, by that it ends on; no two of them end on one line.

        It is the first tag that ends there.
        """
        found: dict[int, int] = {}
        line, counted = 1, 0
        for tag in _BROKEN_TAG.finditer(self.text):
            line += self.text.count("\n", counted, tag.start())
            counted = tag.start()
            if tag.group(1) is not None:
                found[line + tag.group(1).count("\n")] = line
        return found

    def _without_doctype(self, text: str) -> str:
        """Blank out the DOCTYPE: with it in place expat passes over undefined entities without a word."""
        prolog = expat.ParserCreate()
        ends: list[int] = []

        def doctype(name: str, system: str | None, _public: str | None, has_subset: bool) -> None:
            if has_subset:
                hint = "SCCILS needs none; remove what stands between [ and ]"
                raise _RefusedError(prolog.CurrentLineNumber, "internal subset in the DOCTYPE", hint=hint)
            self._doctype = (name, system, prolog.CurrentLineNumber)

        def element(*_: object) -> None:
            raise _PrologDone

        prolog.StartDoctypeDeclHandler = doctype
        prolog.EndDoctypeDeclHandler = lambda: ends.append(prolog.CurrentByteIndex)
        prolog.StartElementHandler = element
        try:
            prolog.Parse(text, True)
        except _PrologDone:
            pass
        except expat.ExpatError:
            # The next pass meets the same fault and knows more about it.
            self._doctype = None if not ends else self._doctype
        if not ends:
            return text
        data = text.encode()
        begin = data.rfind(b"<!DOCTYPE", 0, ends[0])
        blank = bytes(10 if byte == 10 else 32 for byte in data[begin : ends[0] + 1])
        return (data[:begin] + blank + data[ends[0] + 1 :]).decode()

    def check_doctype(self, root: str, file: str, problems: Problems) -> None:
        """Report a DOCTYPE that is not that of the root element, or not SCCILS's own."""
        if self._doctype is None:
            return
        name, system, line = self._doctype
        if name != root:
            problems.error(file, line, f"the DOCTYPE says '{shorten(name)}'", f"'{root}' as the root element is")
        if system is None:
            return
        known = _HISTORICAL.fullmatch(system)
        wanted = DTD_OF_ROOT.get(root, "hdso.dtd")
        if known is None or known.group(1) not in DTD_OF_ROOT.values():
            what = f"the DOCTYPE refers to '{shorten(system)}', which is not opened"
            problems.error(file, line, what, f"'{wanted}'", "or leave the DOCTYPE out")
        elif known.group(1) != wanted and root in DTD_OF_ROOT:
            problems.warning(file, line, f"the DOCTYPE names '{known.group(1)}'", f"'{wanted}'")


class _Reader:
    def __init__(self, source: SourceText) -> None:
        self._document = source
        self.layouts: list[ElementLayout] = []
        self._open: list[tuple[Node, ElementLayout]] = []
        self._root: Node | None = None

    def read(self, text: str) -> Node | None:
        self._source = text.encode()
        parser = self._parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.buffer_size = 2**20
        parser.StartDoctypeDeclHandler = self._second_doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.CommentHandler = self._cut
        parser.ProcessingInstructionHandler = self._instruction
        parser.Parse(text, True)
        return self._root

    def explain(self, error: expat.ExpatError) -> tuple[str, str, str]:
        what = expat.errors.messages.get(error.code, str(error))
        hint = ""
        if what == "mismatched tag" and self._open:
            what = "a closing tag does not match"
            hint = f"<{self._open[-1][0].tag}> was opened on line {self._open[-1][0].line}"
        elif what == "undefined entity":
            hint = "write & as &amp; and < as &lt;"
        elif what.startswith("no element found") and self._open:
            hint = f"the document ends before <{self._open[-1][0].tag}> of line {self._open[-1][0].line} is closed"
        elif what.startswith("not well-formed"):
            hint = "a stray & or <, or a quote missing"
        return f"not well-formed XML: {what}", "", hint

    def _second_doctype(self, *_: object) -> None:
        raise _RefusedError(self._parser.CurrentLineNumber, "a DOCTYPE that cannot be read", hint="leave it out")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self._parser.CurrentLineNumber
        if len(self._open) >= MAX_DEPTH:
            raise _RefusedError(line, "elements are nested too deeply", f"at most {MAX_DEPTH} levels")
        if len(self.layouts) >= MAX_ELEMENTS:
            raise _RefusedError(line, "too many elements", f"at most {MAX_ELEMENTS}")
        if len(attributes) > MAX_ATTRIBUTES:
            raise _RefusedError(line, f"<{shorten(tag)}> has too many attributes", f"at most {MAX_ATTRIBUTES}")
        for name, value in attributes.items():
            if max(len(name.encode()), len(value.encode())) > MAX_ATTRIBUTE_BYTES:
                what = f"attribute {shorten(name)} of <{shorten(tag)}> is too long"
                raise _RefusedError(line, what, f"at most {MAX_ATTRIBUTE_BYTES} bytes")
        node = Node(tag, attributes, ElementLine(line, self._document, len(self.layouts)))
        if self._open:
            self._open[-1][0].children.append(node)
            self._cut()
        else:
            self._root = node
        # The tree is mended later; where things stand is not.
        layout = ElementLayout(self._places(line) if attributes else {})
        self.layouts.append(layout)
        self._open.append((node, layout))

    def _places(self, line: int) -> dict[str, Spread]:
        """Return where the attributes stand of the tag that begins here, if it goes over several lines."""
        begin = self._parser.CurrentByteIndex
        tag = _START_TAG.match(self._source, begin)
        if tag is None or not 0 < tag.group().count(b"\n") <= MAX_TAG_LINES:
            return {}
        places: dict[str, Spread] = {}
        for found in _ATTRIBUTE.finditer(self._source, begin, tag.end()):
            value = 2 if found.group(2) is not None else 3
            at = line + self._source.count(b"\n", begin, found.start(value))
            places[found.group(1).decode()] = attribute_spread(found.group(value).decode(), at)
        return places

    def _end(self, _tag: str) -> None:
        node, layout = self._open.pop()
        node.pieces = list(layout.pieces)

    def _characters(self, text: str) -> None:
        if self._open:
            node, layout = self._open[-1]
            if not layout.pieces[-1]:
                # Text comes when what follows it begins; a line feed given as a reference would lead too far back.
                layout.lines[-1] = max(self._parser.CurrentLineNumber - text.count("\n"), node.line)
            layout.pieces[-1] += text

    def _instruction(self, name: str, _text: str) -> None:
        if ":" in name:
            what = "not well-formed XML: a colon in the name of a processing instruction"
            raise _RefusedError(self._parser.CurrentLineNumber, what)
        self._cut()

    def _cut(self, *_: object) -> None:
        if self._open and self._open[-1][1].pieces[-1]:
            self._open[-1][1].pieces.append("")
            self._open[-1][1].lines.append(0)


def _check_tags(text: str) -> None:
    """Raise _RefusedError for a start tag that is too long."""
    if len(text) <= MAX_TAG:
        return
    for tag in _TAG.finditer(text):
        if tag.end() - tag.start() > MAX_TAG:
            line = text.count("\n", 0, tag.start()) + 1
            raise _RefusedError(
                line, f"the tag <{shorten(tag.group()[1:30])}> is too long", f"at most {MAX_TAG} characters"
            )


class _PrologDone(Exception):
    pass


def _decode(data: bytes) -> str:
    """Return the document's text. Raises _RefusedError for NUL, an encoding not read, and bytes that are not it."""
    if data.startswith(_WIDE_MARKS):
        raise _RefusedError(1, "the document is in UTF-16", "UTF-8", "save it as UTF-8")
    marked = data.startswith(b"\xef\xbb\xbf")
    data = data[3:] if marked else data
    nul = data.find(b"\0")
    if nul >= 0:
        raise _RefusedError(data.count(b"\n", 0, nul) + 1, "a NUL byte stands in the document", "text")
    declared = _DECLARED_ENCODING.match(data)
    # A byte order mark is there or not, a declaration may be left over from an editor long gone.
    encoding = declared.group(1).decode().lower() if declared and not marked else "utf-8"
    if encoding in ("iso-8859-1", "latin-1", "latin1"):
        return data.decode("latin-1")
    if encoding not in ("utf-8", "utf8", "us-ascii", "ascii"):
        raise _RefusedError(1, f"encoding '{encoding}' is not read", "UTF-8", "save the document as UTF-8")
    try:
        return data.decode("ascii" if "ascii" in encoding else "utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"byte 0x{data[error.start]:02x} is not {encoding.upper()}"
        raise _RefusedError(line, what, hint="save the document as UTF-8") from error

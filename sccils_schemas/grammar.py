"""What may stand where: the RELAX NG grammars in `rng/`, read as data, and a check that reports every violation.

RELAX NG validators stop at the first fault and speak of interleaves. SCCILS declares each element name once, so its
grammars come down to one table: per element its attributes, its text and a regular expression over its children.
`check` walks a document along that table, mends what it finds in its own mind, and goes on.
"""

from __future__ import annotations

import functools
import importlib.resources
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sccils_schemas.content import (
    EMPTY,
    NOTHING,
    One,
    Pattern,
    choice,
    derivative,
    expected_next,
    group,
    optional_end,
    repeat,
)
from sccils_schemas.lines import attribute_line, text_line
from sccils_schemas.names import did_you_mean, shorten
from sccils_schemas.numbers import SPACE
from sccils_schemas.problems import Problems, SccilsError
from sccils_schemas.xmlread import Node, read_xml


@dataclass(frozen=True, slots=True)
class ValueRule:
    """What an attribute or a text may hold: one of `values`, or what `pattern` matches, or anything.

    `longest` is how many characters `pattern` is tried on.
    """

    values: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    expected: str = ""
    longest: int = sys.maxsize

    def allows(self, text: str) -> bool:
        """Whether a value fits, white space around it left out of account."""
        text = text.strip(SPACE)
        if self.pattern is not None:
            return len(text) <= self.longest and self.pattern.fullmatch(text) is not None
        return not self.values or text in self.values

    def describe(self) -> str:
        """Return what is expected, in words."""
        return "one of " + ", ".join(self.values) if self.values else self.expected


ANYTHING = ValueRule()


@dataclass(frozen=True, slots=True)
class AttributeRule:
    """One attribute: required or not, its default, and what it may hold."""

    required: bool
    value: ValueRule
    default: str | None


@dataclass(slots=True)
class ElementRule:
    """One element: attributes, children, and whether it may hold text (`text` is None where it may not)."""

    name: str
    attributes: dict[str, AttributeRule] = field(default_factory=dict[str, AttributeRule])
    content: Pattern = EMPTY
    text: ValueRule | None = None
    child_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grammar:
    """One document kind: its possible roots and every element's rule."""

    name: str
    roots: tuple[str, ...]
    elements: Mapping[str, ElementRule]


@functools.cache
def load_grammar(name: str) -> Grammar:
    """Return a grammar of `rng/` by name. Raises SccilsError when the package is damaged."""
    source = _Source()
    source.include(f"{name}.rng")
    elements: dict[str, ElementRule] = {}
    for define in source.defines.values():
        for node in define.children:
            if node.tag == "element":
                elements[node.attributes["name"]] = source.element(node)
    reached = list(source.roots)
    for tag in reached:
        reached += [child for child in elements[tag].child_names if child not in reached]
    return Grammar(name, source.roots, {tag: elements[tag] for tag in reached})


class _Source:
    """The definitions of one grammar, its includes followed, and their translation to rules."""

    def __init__(self) -> None:
        self.defines: dict[str, Node] = {}
        self.roots: tuple[str, ...] = ()

    def include(self, file: str) -> None:
        problems = Problems()
        data = (importlib.resources.files("sccils_schemas") / "rng" / file).read_bytes()
        root = read_xml(data, file, problems)
        if root is None:
            raise SccilsError(f"the grammar {file} cannot be read", problems)
        for node in root.children:
            if node.tag == "include":
                self.include(node.attributes["href"])
            for part in node.children if node.tag == "include" else [node]:
                if part.tag == "define":
                    self.defines[part.attributes["name"]] = part
                elif part.tag == "start":
                    self.roots = tuple(node.attributes["name"] for node in self.walk(part, "ref"))

    def walk(self, node: Node, tag: str) -> Iterator[Node]:
        for child in node.children:
            if child.tag == tag:
                yield child
            else:
                yield from self.walk(child, tag)

    def element(self, node: Node) -> ElementRule:
        rule = ElementRule(node.attributes["name"])
        rule.content = self._sequence(node, rule, required=True)
        rule.child_names = tuple(expected_next(rule.content, everything=True))
        return rule

    def _sequence(self, node: Node, rule: ElementRule, *, required: bool) -> Pattern:
        content: Pattern = EMPTY
        for child in node.children:
            content = group(content, self._pattern(child, rule, required=required))
        return content

    def _pattern(self, node: Node, rule: ElementRule, *, required: bool) -> Pattern:
        content: Pattern = EMPTY
        match node.tag:
            case "attribute":
                value = self.value(node.children[0])
                default = node.attributes.get("a:defaultValue")
                rule.attributes[node.attributes["name"]] = AttributeRule(required, value, default)
            case "text":
                rule.text = ANYTHING
            case "ref":
                content = self._reference(self.defines[node.attributes["name"]], rule, required=required)
            case "optional":
                content = choice(EMPTY, self._sequence(node, rule, required=False))
            case "zeroOrMore":
                content = repeat(self._sequence(node, rule, required=False))
            case "oneOrMore":
                inner = self._sequence(node, rule, required=required)
                content = group(inner, repeat(inner))
            case "choice":
                content = self._alternatives(node, rule)
            case "group":
                content = self._sequence(node, rule, required=required)
            case "empty" | "a:documentation":
                pass
            case _:
                raise SccilsError(f"a grammar uses <{node.tag}>, which is not read here")
        return content

    def _alternatives(self, node: Node, rule: ElementRule) -> Pattern:
        content: Pattern = NOTHING
        for child in node.children:
            content = choice(content, self._pattern(child, rule, required=False))
        return content

    def _reference(self, define: Node, rule: ElementRule, *, required: bool) -> Pattern:
        first = next(child for child in define.children if child.tag != "a:documentation")
        if first.tag == "element":
            return One(first.attributes["name"])
        if first.tag == "data":
            rule.text = self.value(first, define)
            return EMPTY
        return self._sequence(define, rule, required=required)

    def value(self, node: Node, define: Node | None = None) -> ValueRule:
        if node.tag == "ref":
            define = self.defines[node.attributes["name"]]
            return self.value(next(child for child in define.children if child.tag != "a:documentation"), define)
        if node.tag == "choice":
            return ValueRule(values=tuple(child.text for child in node.children))
        if node.tag == "text" or define is None:
            return ANYTHING
        expected = next((child.text for child in define.children if child.tag == "a:documentation"), "")
        params = {child.attributes["name"]: child.text for child in node.children}
        longest = int(params.get("maxLength", sys.maxsize))
        return ValueRule(pattern=re.compile(params["pattern"]), expected=expected, longest=longest)


def check(root: Node, grammar: Grammar, file: str, problems: Problems) -> bool:
    """Report everything in a document that its grammar does not allow, take it out, and say whether there was any.

    Afterwards the tree holds only known elements in places where they may stand, and known attributes with values that
    fit; what was missing is still missing.
    """
    checker = _Checker(grammar, file, problems)
    checker.element(root)
    return checker.found


class _Checker:
    def __init__(self, grammar: Grammar, file: str, problems: Problems) -> None:
        self._grammar = grammar
        self._file = file
        self._problems = problems
        self.found = False

    def element(self, node: Node) -> None:
        rule = self._grammar.elements[node.tag]
        self._attributes(node, rule)
        self._text(node, rule)
        self._children(node, rule)
        for child in node.children:
            self.element(child)

    def _attributes(self, node: Node, rule: ElementRule) -> None:
        given = set(node.attributes)
        for name, value in list(node.attributes.items()):
            known = rule.attributes.get(name)
            if known is None:
                hint = self._guess(name, rule.attributes) or "known are " + ", ".join(rule.attributes)
                self._report(node, name, f"<{node.tag}> has no attribute '{shorten(name)}'", hint=hint)
                del node.attributes[name]
            elif not known.value.allows(value):
                hint = self._guess(value, known.value.values)
                what = f"{name}='{shorten(value)}' of <{node.tag}> is not allowed"
                self._report(node, name, what, known.value.describe(), hint)
                del node.attributes[name]
        for name, known in rule.attributes.items():
            if known.required and name not in given:
                self._error(node, f"<{node.tag}> lacks the attribute {name}", known.value.describe())

    def _text(self, node: Node, rule: ElementRule) -> None:
        text = node.text.strip(SPACE)
        if rule.text is None and text:
            what = f"text '{shorten(text, 30)}' has no place in <{node.tag}>"
            self._note(text_line(node.line), what, hint="only elements stand here")
        elif rule.text is not None and not rule.text.allows(text):
            what = f"<{node.tag}> holds '{shorten(text, 30)}'" if text else f"<{node.tag}> is empty"
            self._note(text_line(node.line), what, rule.text.describe())
            node.pieces = []

    def _children(self, node: Node, rule: ElementRule) -> None:
        pattern = rule.content
        kept: list[Node] = []
        for child in node.children:
            following = derivative(pattern, child.tag)
            if following is NOTHING:
                following = self._misplaced(node, child, rule, pattern)
                if following is NOTHING:
                    continue
            pattern = following
            kept.append(child)
        missing = optional_end(pattern)
        if missing:
            self._error(node, f"<{node.tag}> lacks an element", " or ".join(f"<{name}>" for name in missing))
        node.children = kept

    def _misplaced(self, node: Node, child: Node, rule: ElementRule, pattern: Pattern) -> Pattern:
        """Report a child that cannot come next; return the pattern after it, or NOTHING when it is to be left out."""
        for name in expected_next(pattern):
            after = derivative(derivative(pattern, name), child.tag)
            if after is not NOTHING and child.tag in rule.child_names:
                self._error(child, f"<{name}> is missing before <{child.tag}> in <{node.tag}>")
                return after
        here = [f"<{name}>" for name in expected_next(pattern)]
        expected = " or ".join(here) if here else "nothing more"
        if child.tag in rule.child_names:
            order = ", ".join(rule.child_names)
            self._error(child, f"<{child.tag}> is out of place in <{node.tag}>", expected, f"the order is {order}")
        elif child.tag == "jointlist":
            hint = "make every joint a child of the one joint list; parent links them"
            self._error(child, "joint lists inside joint lists are not supported", hint=hint)
        elif child.tag in self._grammar.elements:
            self._error(child, f"<{child.tag}> cannot stand in <{node.tag}>", expected)
        else:
            hint = self._guess(child.tag, rule.child_names) or self._guess(child.tag, self._grammar.elements)
            self._error(child, f"unknown element <{shorten(child.tag)}> in <{node.tag}>", expected, hint)
        return NOTHING

    def _guess(self, word: str, known: Iterable[str]) -> str:
        return did_you_mean(word, known) if self._problems.guessing else ""

    def _report(self, node: Node, attribute: str, what: str, expected: str = "", hint: str = "") -> None:
        self._note(attribute_line(node.line, attribute), what, expected, hint)

    def _error(self, node: Node, what: str, expected: str = "", hint: str = "") -> None:
        self._note(node.line, what, expected, hint)

    def _note(self, line: int, what: str, expected: str = "", hint: str = "") -> None:
        self.found = True
        self._problems.error(self._file, line, what, expected, hint)

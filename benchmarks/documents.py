"""SCCILS documents that were right once: lxml must refuse one exactly when the walk along its grammar finds something.

Of an odd document one of the two would say nothing: it would be refused without a word of why, or used in spite of one.
`python -m benchmarks.fuzz` holds 100,000 against both, a test some hundred.
"""

from __future__ import annotations

import random  # noqa: TID251  a number is all it takes to see a mutant again
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from sccils_schemas.grammar import check, load_grammar
from sccils_schemas.judge import judge
from sccils_schemas.problems import Problems
from sccils_schemas.xmlread import GRAMMAR_OF_ROOT, Node, open_document

ROOT = Path(__file__).parents[1]
_VALUE = re.compile(r'="([^"<]*)"|>([^<>]+)<')
_NAME = re.compile(r"</?([A-Za-z_]+)|\s([A-Za-z_]+)=")
_ATTRIBUTE = re.compile(r'\s[A-Za-z_]+="[^"<]*"')
_ELEMENT = re.compile(r"<(\w+)[^<>]*(?:/>|>[^<>]*</\1>)")
_ODD = (
    *("", " ", " 7 ", "-1", "+0", "007", ".", "1.", ".5", "1e5", "1e999999", "nan", "0x1", "1,2,3", "1 2 , 3", "1 2 3"),
    *("\u0663", "\u00e4\u03b1", "a\u0300", "\u0560x", "\u1c80", "\ua7c0", "\U00010400", "\u200c", "\u2028", "\u00a0"),
    *("a b", "a:b", "1a", "-a", "_", "A.b-c", "&lt;", "&#32;", "&#10;", "&#x85;", "&amp;amp;", "9" * 50, "9" * 8200),
    *("y", "Y", "float", "lint", "muscle", "HDSO", "upper", "valid", "run", "ack_only", "1", "-1", "]]>", "\t\n\r "),
)
_PIECES = (
    *("text", "\u00a0", "&#32;", "<!-- x -->", "<!---->", "<?p i?>", "<?a:b?>", "<![CDATA[ ]]>", "<![CDATA[1]]>"),
    *(
        "<hdsoMod/>",
        '<hdsoSpec idNum="1"/>',
        "<description/>",
        "<description>x</description>",
        "<q:a/>",
        "<jointlist/>",
    ),
    *('<range type="valid"/>', '<plotstyle linespec="k-"/>', "<geometry/>", "<jointlist/>"),
    *("<", ">", "&", "&x;", "]]>", "</joint>"),
)
_EXTRA = (' xml:lang="en"', ' xml:id="1 2"', ' q:a="1"', ' bogus="1"', ' name="a"', ' time="1"', " idNum='1'", " a")


@cache
def seeds() -> Sequence[str]:
    """Return documents that are right: all that come along, and the small ones of the tests."""
    small = ROOT / "tests" / "sccils" / "data"
    paths = [*ROOT.glob("configs/*/*.xml"), *ROOT.glob("scripts/*.xml"), *[*small.rglob("*.xml")] * 8]
    return [path.read_text(encoding="utf-8") for path in sorted(paths)]


@cache
def _words() -> Sequence[str]:
    return sorted({found.group(1) or found.group(2) for text in seeds() for found in _NAME.finditer(text)})


def mutant(number: int) -> str:
    """Return one of the documents with up to three things in it changed; the same one for the same number."""
    chance = random.Random(number)
    text = chance.choice(seeds())
    for _ in range(chance.randrange(4)):
        text = _spoilt(text, chance)
    return text


def _spoilt(text: str, chance: random.Random) -> str:
    where, new = {
        "value": (_VALUE, [*_ODD, *_words()]),
        "name": (_NAME, [*_words(), "x", "q:x", "\u00e4"]),
        "attribute": (_ATTRIBUTE, ["", *_EXTRA]),
        "element": (_ELEMENT, ["", *_PIECES]),
        "between": (re.compile(r"(?<=>)(?=[^<]*<)"), _PIECES),
        "twice": (chance.choice([_ATTRIBUTE, _ELEMENT]), None),
        "white space": (re.compile(r"(?<=\s)(?=\w+=)|(?<=\w)(?=/?>)"), ["\n", "\t\n ", "  "]),
        "anywhere": (re.compile(r"(?=[<>\"' =/])"), ["", *"<>\"'&=/ \n\x01\ufffe", "--"]),
    }[chance.choice(["value", "value", "name", "attribute", "element", "between", "twice", "white space", "anywhere"])]
    found = list(where.finditer(text))
    if not found:
        return text
    place = chance.choice(found)
    group = next((k for k in range(1, (place.lastindex or 0) + 1) if place.group(k) is not None), 0)
    group = 0 if where is _ELEMENT else group
    put = 2 * place.group() if new is None else chance.choice(new)
    return text[: place.start(group)] + put + text[place.end(group) :]


def verdicts(text: str) -> tuple[str, str]:
    """Return what lxml and the walk say of a document, or the gate instead of both."""
    source = open_document(text.encode(errors="surrogatepass"), "mutant.xml", Problems())
    if source is None or source.unusual:
        return "stopped at the gate", "stopped at the gate"
    found = Problems()
    tree = source.read("mutant.xml", found)
    if tree is not None and tree.tag not in GRAMMAR_OF_ROOT:
        tree = None
    bad = tree is None or check(tree, load_grammar(GRAMMAR_OF_ROOT[tree.tag]), "mutant.xml", found)
    return "accepted" if isinstance(judge(source), Node) else "refused", "refused" if bad else "accepted"


def disagreements(numbers: range) -> tuple[Counter[str], list[int]]:
    """Return what became of mutants, and the numbers of those of which lxml and the walk do not say the same."""
    became: Counter[str] = Counter()
    differing: list[int] = []
    for number in numbers:
        lxml, walk = verdicts(mutant(number))
        became[lxml] += 1
        if lxml != walk:
            differing.append(number)
    return became, differing

"""Entry rules: Boolean expressions over HDSOs, as text, as a tree, and as the integers a boolstring HDSO holds.

Grammar (readings B7 and B8): operands are HDSO ids or names, never literals; `<` and `>` compare two operands and
do not chain; `&` is AND, `|` is OR; a comparison binds tighter than `&`, `&` tighter than `|`; an operand alone is
true when it is not zero.

Stored form (hdso.dtd: two rows of integers, one column per token, parentheses included):

    flag row    1 operator or parenthesis    0 operand        -1 unused
    value row   code in `OPERATOR_CODES`     HDSO id           0 unused

An operand may have a delay, `TC1_current@0.03`, for what it was so many seconds ago (since SCCILS 0.2). In a boolstring
it is a column of its own behind the operand's: flag 2, and microseconds.

A rule that fills every column needs no end mark. NeuRoMod's own operator codes were never published, so rules are
exchanged between programs as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from sccils_schemas.documents import Ref, seconds_text
from sccils_schemas.names import NAME, did_you_mean, id_ranges, shorten
from sccils_schemas.problems import SccilsError

OPERATOR_CODES: Mapping[str, int] = {"(": 1, ")": 2, "<": 3, ">": 4, "&": 5, "|": 6}
"""Value row entry of each operator and parenthesis, where the flag row is 1."""

OPERATOR, OPERAND, DELAY, UNUSED = 1, 0, 2, -1
LONGEST_DELAY_US = 60_000_000
"""How far back an operand can reach."""
MAX_TEXT = 4096
"""Longest rule text, in characters."""
MAX_DELAY_TEXT = 40
"""Longest delay, in characters."""
MAX_NESTING = 32
"""Deepest parentheses."""
TIME = "time"
"""In a trigger's rule: seconds since the start of the engine, unless there is an HDSO of this name."""
DEFAULT_WIDTH = 30
"""Columns of a boolstring HDSO in the printed configurations."""

_SYMBOLS = {code: symbol for symbol, code in OPERATOR_CODES.items()}
_NUMBER = re.compile(r"[0-9]+")
DELAY_TEXT = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
"""A delay as it is written, in seconds."""
_SPACE = re.compile(r"[ \t\r\n]+")
_NOT_OPERATORS = {
    "=": "there is no 'equals': use < or >",
    "!": "there is no negation: turn the comparison round",
    "&&": "AND is a single &",
    "||": "OR is a single |",
    "<=": "there is no <=: use < with another threshold",
    ">=": "there is no >=: use > with another threshold",
}


class RuleError(SccilsError):
    """A rule that cannot be read, resolved, encoded or decoded. `column` counts from 1; 0 is the whole rule."""

    def __init__(self, what: str, column: int = 0, hint: str = "") -> None:
        self.what = what
        self.column = column
        self.hint = hint
        place = f" at column {column}" if column else ""
        super().__init__(f"{what}{place}{f' ({hint})' if hint else ''}")


@dataclass(frozen=True, slots=True)
class Token:
    """One token: an operator or parenthesis (`symbol`), or an operand (`ref`). Its column is not part of equality."""

    symbol: str = ""
    ref: Ref | None = None
    column: int = 0
    delay_us: int = 0

    def __eq__(self, other: object) -> bool:
        """Compare meaning, not place."""
        mine = (self.symbol, self.ref, self.delay_us)
        return isinstance(other, Token) and mine == (other.symbol, other.ref, other.delay_us)

    def __hash__(self) -> int:
        """Hash what equality compares."""
        return hash((self.symbol, self.ref, self.delay_us))

    def __str__(self) -> str:
        """Return the token as it is written in a rule."""
        return self.symbol or _operand_text(str(self.ref), self.delay_us)

    @property
    def columns(self) -> int:
        """How many columns of a boolstring it takes."""
        return 2 if self.delay_us else 1


@dataclass(frozen=True, slots=True)
class Variable:
    """An HDSO, by id or name, perhaps as it was before. Alone it is true when it is not zero, or a true rule."""

    ref: Ref
    delay_us: int = 0

    def __str__(self) -> str:
        """Return it as it is written in a rule."""
        return _operand_text(str(self.ref), self.delay_us)


@dataclass(frozen=True, slots=True)
class Inequality:
    """`left < right` or `left > right`."""

    op: Literal["<", ">"]
    left: Variable
    right: Variable


@dataclass(frozen=True, slots=True)
class And:
    """True when every term is. At least two terms."""

    terms: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True when any term is. At least two terms."""

    terms: tuple[Rule, ...]


Rule = Variable | Inequality | And | Or


def tokenise(text: str) -> tuple[Token, ...]:
    """Cut a rule's text into tokens. Raises RuleError at the first character that belongs to no token."""
    if len(text) > MAX_TEXT:
        raise RuleError(f"rule of {len(text)} characters", hint=f"at most {MAX_TEXT} are read")
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        if space := _SPACE.match(text, at):
            at = space.end()
            continue
        token, at = _token(text, at)
        tokens.append(token)
    return tuple(tokens)


def _token(text: str, at: int) -> tuple[Token, int]:
    column = at + 1
    for wrong in (text[at : at + 2], text[at]):
        if wrong in _NOT_OPERATORS:
            raise RuleError(f"'{wrong}' is not an operator", column, _NOT_OPERATORS[wrong])
    if text[at] in OPERATOR_CODES:
        return Token(text[at], None, column), at + 1
    if number := _NUMBER.match(text, at):
        return _delayed(text, *_id_token(text, number, column))
    if name := NAME.match(text, at):
        return _delayed(text, Token("", name.group(), column), name.end())
    if text[at] in "+-*/.":
        raise RuleError(f"'{text[at]}' has no meaning in a rule", column, "operands are HDSO ids or names, not numbers")
    raise RuleError(f"{text[at]!r} has no meaning in a rule", column, "known are ids, names, < > & | ( )")


def _id_token(text: str, number: re.Match[str], column: int) -> tuple[Token, int]:
    after = text[number.end() : number.end() + 1]
    if after == "." or NAME.match(after):
        hint = "operands are HDSO ids or names; put a number into a parameter HDSO and use its id"
        raise RuleError(f"'{number.group()}{after}' is neither an id nor a name", column, hint)
    if len(number.group()) > 10 or int(number.group()) > 2**31 - 1:
        raise RuleError(f"'{shorten(number.group(), 24)}' is too large for an HDSO id", column)
    return Token("", int(number.group()), column), number.end()


def _delayed(text: str, token: Token, at: int) -> tuple[Token, int]:
    """Return an operand with the delay that follows it, if one does."""
    if text[at : at + 1] != "@":
        return token, at
    expected = f"seconds, 0 to {LONGEST_DELAY_US // 1_000_000}, follow it at once: TC1_current@0.03"
    found = DELAY_TEXT.match(text, at + 1)
    if found is None:
        raise RuleError(f"'@' behind '{shorten(str(token))}' has no delay", at + 1, expected)
    return Token("", token.ref, token.column, read_delay(found.group(), at + 1)), found.end()


def read_delay(text: str, column: int = 0) -> int:
    """Return a delay in microseconds. Raises RuleError for one that is too long, or finer than that."""
    delay_us = Decimal(text).scaleb(6) if len(text) <= MAX_DELAY_TEXT else Decimal("Infinity")
    if delay_us > LONGEST_DELAY_US:
        longest = LONGEST_DELAY_US // 1_000_000
        raise RuleError(f"a delay of {shorten(text, 24)} s has no history", column, f"at most {longest} s are kept")
    if delay_us % 1:
        raise RuleError(f"a delay of {text} s is finer than a microsecond", column)
    return int(delay_us)


def _operand_text(name: str, delay_us: int) -> str:
    return f"{name}@{seconds_text(delay_us)}" if delay_us else name


def parse_rule(text: str) -> Rule:
    """Return the tree of a rule's text. Raises RuleError with the column of the fault."""
    return parse_tokens(tokenise(text))


def parse_tokens(tokens: Sequence[Token]) -> Rule:
    """Return the tree of a token sequence. Raises RuleError with the column of the fault."""
    if not tokens:
        raise RuleError("the rule is empty", hint="for a rule that is always true name a constant that is not zero")
    return _Parser(tokens).rule()


class _Parser:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def rule(self) -> Rule:
        tree = self._any()
        if self._at < len(self._tokens):
            extra = self._tokens[self._at]
            if extra.symbol == ")":
                raise RuleError("')' closes nothing", extra.column)
            raise RuleError(f"'{extra}' follows a complete expression", extra.column, "join expressions with & or |")
        return tree

    def _symbol(self) -> str:
        return self._tokens[self._at].symbol if self._at < len(self._tokens) else ""

    def _any(self) -> Rule:
        terms = [self._all()]
        while self._symbol() == "|":
            self._at += 1
            terms.append(self._all())
        return terms[0] if len(terms) == 1 else Or(tuple(terms))

    def _all(self) -> Rule:
        terms = [self._comparison()]
        while self._symbol() == "&":
            self._at += 1
            terms.append(self._comparison())
        return terms[0] if len(terms) == 1 else And(tuple(terms))

    def _comparison(self) -> Rule:
        left = self._primary()
        if self._symbol() not in ("<", ">"):
            return left
        operator = self._tokens[self._at]
        self._at += 1
        right = self._primary()
        if self._symbol() in ("<", ">"):
            hint = "write (a < b) & (b < c)"
            raise RuleError("comparisons cannot be chained", self._tokens[self._at].column, hint)
        if not isinstance(left, Variable) or not isinstance(right, Variable):
            raise RuleError(f"'{operator}' compares expressions", operator.column, "it compares two single HDSOs")
        return Inequality("<" if operator.symbol == "<" else ">", left, right)

    def _primary(self) -> Rule:
        if self._at >= len(self._tokens):
            last = self._tokens[-1]
            raise RuleError(f"the rule ends after '{last}'", last.column, "an HDSO id, a name or '(' must follow")
        token = self._tokens[self._at]
        self._at += 1
        if token.ref is not None:
            return Variable(token.ref, token.delay_us)
        if token.symbol != "(":
            hint = "expected an HDSO id, a name or '('"
            raise RuleError(f"'{token}' stands where an operand belongs", token.column, hint)
        return self._parenthesis(token)

    def _parenthesis(self, opened: Token) -> Rule:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise RuleError(f"parentheses deeper than {MAX_NESTING}", opened.column)
        inner = self._any()
        if self._at >= len(self._tokens):
            raise RuleError("'(' is never closed", opened.column)
        if self._symbol() != ")":
            token = self._tokens[self._at]
            raise RuleError(f"'{token}' follows a complete expression", token.column, "join expressions with & or |")
        self._at += 1
        self._depth -= 1
        return inner


def format_rule(rule: Rule, names: Mapping[int, str] | None = None) -> str:
    """Return a rule as text, `(302 > 106)&(307 > 107)`; with `names`, ids become names where one is known."""
    return format_tokens(_write(rule, nested=False), names)


def format_tokens(tokens: Sequence[Token], names: Mapping[int, str] | None = None) -> str:
    """Return a token sequence as text, with its parentheses as they are."""
    shown = dict(names or {})
    words: list[str] = []
    for token in tokens:
        named = isinstance(token.ref, int) and token.ref in shown
        word = _operand_text(shown[token.ref], token.delay_us) if named else str(token)  # type: ignore[index]
        words.append(f" {word} " if word in ("<", ">", "&", "|") else word)
    return "".join(words)


def _write(rule: Rule, *, nested: bool) -> list[Token]:
    if isinstance(rule, Variable):
        return [_token_of(rule)]
    if isinstance(rule, Inequality):
        inner = [_token_of(rule.left), Token(rule.op), _token_of(rule.right)]
    else:
        inner = _write(rule.terms[0], nested=True)
        for term in rule.terms[1:]:
            inner += [Token("&" if isinstance(rule, And) else "|"), *_write(term, nested=True)]
    return [Token("("), *inner, Token(")")] if nested else inner


def _token_of(operand: Variable) -> Token:
    return Token("", operand.ref, delay_us=operand.delay_us)


def shifted(rule: Rule, delay_us: int) -> Rule:
    """Return what a rule was so long ago: the same of what its operands were then."""
    if isinstance(rule, Variable):
        return Variable(rule.ref, rule.delay_us + delay_us)
    if isinstance(rule, Inequality):
        left, right = (Variable(side.ref, side.delay_us + delay_us) for side in (rule.left, rule.right))
        return Inequality(rule.op, left, right)
    terms = tuple(shifted(term, delay_us) for term in rule.terms)
    return And(terms) if isinstance(rule, And) else Or(terms)


def is_delayed(text: str) -> bool:
    """Say whether a text is a rule that has a delay."""
    try:
        return "@" in text and any(token.delay_us for token in tokenise(text))
    except RuleError:
        return False


def variables(rule: Rule) -> Iterator[Variable]:
    """Yield the operands of a rule, as often as they stand in it."""
    if isinstance(rule, Variable):
        yield rule
    elif isinstance(rule, Inequality):
        yield from (rule.left, rule.right)
    else:
        for term in rule.terms:
            yield from variables(term)


def has_delay(rule: Rule) -> bool:
    """Say whether an operand of a rule has a delay."""
    return any(operand.delay_us for operand in variables(rule))


def operands(rule: Rule) -> tuple[Ref, ...]:
    """Return the HDSOs a rule reads, now or before, each once, in the order written."""
    return tuple(dict.fromkeys(operand.ref for operand in variables(rule)))


def resolve_tokens(tokens: Sequence[Token], ids: Mapping[str, int]) -> tuple[Token, ...]:
    """Return tokens with every name replaced by its id. Raises RuleError for an unknown name."""
    return tuple(
        Token("", _resolve(token.ref, ids, token.column), token.column, token.delay_us)
        if token.ref is not None
        else token
        for token in tokens
    )


def resolve(rule: Rule, ids: Mapping[str, int]) -> Rule:
    """Return a rule with every name replaced by its id. Raises RuleError for an unknown name."""
    return parse_tokens(resolve_tokens(_write(rule, nested=False), ids))


def _resolve(ref: Ref, ids: Mapping[str, int], column: int) -> int:
    if isinstance(ref, int):
        return ref
    if ref not in ids:
        raise RuleError(f"HDSO '{ref}' is not declared", column, did_you_mean(ref, ids))
    return ids[ref]


def encode_rule(
    rule: Rule | Sequence[Token] | str, width: int = DEFAULT_WIDTH
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the flag row and the value row of a rule, each `width` long.

    Tokens and text keep their own parentheses; a tree gets those `format_rule` writes. Raises RuleError for a rule
    of more than `width` tokens, one that is not well formed, or one that still holds names.
    """
    if isinstance(rule, str):
        tokens: Sequence[Token] = tokenise(rule)
    else:
        tokens = _write(rule, nested=False) if isinstance(rule, Rule) else rule
    parse_tokens(tokens)
    columns = sum(token.columns for token in tokens)
    if columns > width:
        hint = "each id, each delay, and each of < > & | ( ) counts"
        raise RuleError(f"the rule has {columns} tokens, but its HDSO holds {width}", hint=hint)
    flags: list[int] = []
    values: list[int] = []
    for token in tokens:
        flags.append(OPERAND if token.ref is not None else OPERATOR)
        values.append(_value(token))
        if token.delay_us:
            flags.append(DELAY)
            values.append(token.delay_us)
    rest = width - columns
    return (*flags, *[UNUSED] * rest), (*values, *[0] * rest)


def _value(token: Token) -> int:
    if token.ref is None:
        return OPERATOR_CODES[token.symbol]
    if isinstance(token.ref, str):
        raise RuleError(f"'{token.ref}' must be an id here", token.column, "resolve names before encoding")
    return token.ref


def decode_tokens(flags: Sequence[int], values: Sequence[int]) -> tuple[Token, ...]:
    """Return the tokens of a flag row and a value row. Raises RuleError for rows that hold no rule."""
    if len(flags) != len(values):
        raise RuleError(f"{len(flags)} flags but {len(values)} values")
    used = next((at for at, flag in enumerate(flags) if flag == UNUSED), len(flags))
    tokens: list[Token] = []
    for at in range(used):
        if flags[at] == DELAY:
            tokens[-1:] = [_with_delay(tokens[-1:], values[at], at + 1)]
        else:
            tokens.append(_decoded(flags[at], values[at], at + 1))
    for at in range(used, len(flags)):
        if flags[at] != UNUSED or values[at] != 0:
            raise RuleError(f"column {at + 1} is used after the end mark in column {used + 1}")
    return tuple(tokens)


def _with_delay(before: Sequence[Token], delay_us: int, column: int) -> Token:
    if not before or before[0].ref is None or before[0].delay_us:
        raise RuleError("a delay stands behind no operand", column)
    if not 0 < delay_us <= LONGEST_DELAY_US:
        raise RuleError(f"a delay of {delay_us} us", column, f"1 to {LONGEST_DELAY_US}")
    return Token("", before[0].ref, before[0].column, delay_us)


def _decoded(flag: int, value: int, column: int) -> Token:
    if flag == OPERATOR and value in _SYMBOLS:
        return Token(_SYMBOLS[value], None, column)
    if flag == OPERAND and value >= 0:
        return Token("", value, column)
    if flag == OPERATOR:
        raise RuleError(f"unknown operator code {value}", column, f"codes are {id_ranges(_SYMBOLS)}")
    if flag == OPERAND:
        raise RuleError(f"HDSO id {value} is negative", column)
    raise RuleError(f"flag {flag} has no meaning", column, "1 operator, 0 operand, 2 delay, -1 unused")


def decode_rule(flags: Sequence[int], values: Sequence[int]) -> Rule:
    """Return the tree of a flag row and a value row. Raises RuleError for anything that is not a rule."""
    return parse_tokens(decode_tokens(flags, values))

"""Entry rules: grammar, precedence, names, and the integers a boolstring HDSO holds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sccils_schemas.rules import (
    MAX_NESTING,
    MAX_TEXT,
    And,
    Inequality,
    Or,
    Rule,
    RuleError,
    Token,
    Variable,
    decode_rule,
    decode_tokens,
    encode_rule,
    format_rule,
    format_tokens,
    operands,
    parse_rule,
    resolve,
    resolve_tokens,
    shifted,
    tokenise,
)

PROPERTY = settings(max_examples=80, deadline=None, derandomize=True)


def less(left: int | str, right: int | str) -> Inequality:
    return Inequality("<", Variable(left), Variable(right))


def more(left: int | str, right: int | str) -> Inequality:
    return Inequality(">", Variable(left), Variable(right))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("191", Variable(191)),
        ("(191)", Variable(191)),
        ("304 < 101", less(304, 101)),
        ("(302 > 106)&(307 > 107)", And((more(302, 106), more(307, 107)))),
        ("(307 < 103)|(305 < 104)", Or((less(307, 103), less(305, 104)))),
        ("1<2&3>4", And((less(1, 2), more(3, 4)))),
        ("1 | 2 & 3", Or((Variable(1), And((Variable(2), Variable(3)))))),
        ("1 & 2 | 3", Or((And((Variable(1), Variable(2))), Variable(3)))),
        ("(1 | 2) & 3", And((Or((Variable(1), Variable(2))), Variable(3)))),
        ("1 & 2 & 3", And((Variable(1), Variable(2), Variable(3)))),
        ("1 & (2 & 3)", And((Variable(1), And((Variable(2), Variable(3)))))),
        ("(1) < ((2))", less(1, 2)),
        ("TC1_current > FT_ext_TC1_load", more("TC1_current", "FT_ext_TC1_load")),
        ("Tibia_Flexor_F-L_Params > a.b", more("Tibia_Flexor_F-L_Params", "a.b")),
        ("\t1\n<\r\n2 ", less(1, 2)),
    ],
)
def test_reads(text: str, tree: Rule) -> None:
    assert parse_rule(text) == tree


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("", 0, "empty"),
        ("  ", 0, "empty"),
        ("302 <", 5, "ends after '<'"),
        ("< 302", 1, "operand"),
        ("1 < 2 < 3", 7, "chained"),
        ("(1 < 2", 1, "never closed"),
        ("1 < 2)", 6, "closes nothing"),
        ("1 2", 3, "join expressions"),
        ("(1 2)", 4, "join expressions"),
        ("()", 2, "operand"),
        ("1 & & 2", 5, "operand"),
        ("(1 & 2) < 3", 9, "two single HDSOs"),
        ("301 <= 5", 5, "no <="),
        ("301 = 5", 5, "no 'equals'"),
        ("!301", 1, "no negation"),
        ("1 && 2", 3, "single &"),
        ("1 || 2", 3, "single |"),
        ("301 > 0.5", 7, "neither an id nor a name"),
        ("301 > -5", 7, "no meaning"),
        ("301 > 5deg", 7, "neither an id nor a name"),
        ("301 ; 5", 5, "no meaning"),
        ("__import__('os')", 12, "no meaning"),
        ("99999999999 < 1", 1, "too large"),
        ("2147483648", 1, "too large"),
    ],
)
def test_refuses_with_the_column(text: str, column: int, words: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse_rule(text)
    assert words in str(caught.value)
    assert caught.value.column == column


def test_nesting_is_bounded() -> None:
    parse_rule("(" * MAX_NESTING + "1" + ")" * MAX_NESTING)
    with pytest.raises(RuleError, match="deeper"):
        parse_rule("(" * (MAX_NESTING + 1) + "1" + ")" * (MAX_NESTING + 1))
    with pytest.raises(RuleError, match="deeper"):
        parse_rule("(" * 2000)
    with pytest.raises(RuleError, match="characters"):
        tokenise("1" * (MAX_TEXT + 1))


def test_operands_come_once_in_the_order_written() -> None:
    assert operands(parse_rule("(302 < 108)|(307 < 109)&302")) == (302, 108, 307, 109)
    assert operands(parse_rule("a > b & a")) == ("a", "b")


def test_names_are_resolved_and_shown() -> None:
    ids = {"TC1_current": 302, "FT_ext_TC1_load": 106}
    assert resolve(parse_rule("TC1_current > FT_ext_TC1_load"), ids) == more(302, 106)
    assert format_rule(more(302, 106), {302: "TC1_current"}) == "TC1_current > 106"
    with pytest.raises(RuleError, match="did you mean 'TC1_current'"):
        resolve(parse_rule("TC1_curent > 5"), ids)


def test_resolving_keeps_the_parentheses_as_written() -> None:
    tokens = resolve_tokens(tokenise("((a) < (2))"), {"a": 1})
    assert format_tokens(tokens) == "((1) < (2))"


def test_stored_form_of_the_printed_rule() -> None:
    flags, values = encode_rule("(302 > 106)&(307 > 107)")
    assert flags == (1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1) + (-1,) * 19
    assert values == (1, 302, 4, 106, 2, 5, 1, 307, 4, 107, 2) + (0,) * 19
    assert decode_rule(flags, values) == parse_rule("(302 > 106)&(307 > 107)")


def test_thirty_tokens_fit_and_thirty_one_do_not() -> None:
    # A well formed rule has an odd number of tokens, so a width of 30 leaves 29 as the longest; 29 columns can be full.
    longest = "&".join(["1"] * 15)
    too_long = "&".join(["1"] * 16)
    assert (len(tokenise(longest)), len(tokenise(too_long))) == (29, 31)
    flags, values = encode_rule(longest, width=30)
    assert flags.count(-1) == 1
    assert decode_rule(flags, values) == parse_rule(longest)
    flags, values = encode_rule(longest, width=29)
    assert -1 not in flags
    assert decode_rule(flags, values) == parse_rule(longest)
    with pytest.raises(RuleError, match="31 tokens, but its HDSO holds 30"):
        encode_rule(too_long, width=30)


@pytest.mark.parametrize(
    ("flags", "values", "words"),
    [
        ((0, -1), (1,), "values"),
        ((-1, -1), (0, 0), "empty"),
        ((0, -1, 0), (1, 0, 2), "after the end mark"),
        ((0, -1, -1), (1, 0, 2), "after the end mark"),
        ((1, -1), (99, 0), "unknown operator code 99"),
        ((1, -1), (0, 0), "unknown operator code 0"),
        ((0, -1), (-3, 0), "negative"),
        ((7, -1), (3, 0), "flag 7"),
        ((0, 1, 1, 0), (1, 3, 3, 2), "operand"),
        ((0, 0), (1, 2), "complete expression"),
    ],
)
def test_rows_that_hold_no_rule(flags: tuple[int, ...], values: tuple[int, ...], words: str) -> None:
    with pytest.raises(RuleError, match=words):
        decode_rule(flags, values)


def test_names_can_not_be_encoded() -> None:
    with pytest.raises(RuleError, match="must be an id"):
        encode_rule("a < 1")


refs = st.integers(0, 2**31 - 1) | st.from_regex(r"[A-Za-z_][A-Za-z0-9_.\-]{0,8}", fullmatch=True)


def rules(operand: st.SearchStrategy[int | str]) -> st.SearchStrategy[Rule]:
    variables = st.builds(Variable, operand, st.just(0) | st.integers(0, 60_000_000))
    leaves = variables | st.builds(Inequality, st.sampled_from("<>"), variables, variables)

    def grow(inner: st.SearchStrategy[Rule]) -> st.SearchStrategy[Rule]:
        terms = st.lists(inner, min_size=2, max_size=3).map(tuple)
        return st.builds(And, terms) | st.builds(Or, terms)

    return st.recursive(leaves, grow, max_leaves=8)


@PROPERTY
@given(rules(refs))
def test_format_and_parse_are_inverse(rule: Rule) -> None:
    assert parse_rule(format_rule(rule)) == rule


@PROPERTY
@given(rules(st.integers(0, 2**31 - 1)))
def test_encode_and_decode_are_inverse(rule: Rule) -> None:
    flags, values = encode_rule(rule, width=120)
    assert decode_rule(flags, values) == rule
    assert encode_rule(decode_tokens(flags, values), width=120) == (flags, values)


@PROPERTY
@given(st.text(alphabet="()<>&|12 ab@.", max_size=30))
def test_any_text_is_a_rule_or_a_rule_error(text: str) -> None:
    try:
        tree = parse_rule(text)
    except RuleError:
        return
    tokens = tokenise(text)
    assert tokenise(format_tokens(tokens)) == tokens
    assert parse_rule(format_rule(tree)) == tree


@PROPERTY
@given(st.lists(st.tuples(st.integers(-2, 3), st.integers(-1, 8) | st.integers(59_999_999, 60_000_001)), max_size=12))
def test_any_rows_are_a_rule_or_a_rule_error(columns: list[tuple[int, int]]) -> None:
    flags, values = [flag for flag, _ in columns], [value for _, value in columns]
    try:
        tree = decode_rule(flags, values)
    except RuleError:
        return
    assert encode_rule(decode_tokens(flags, values), width=len(flags)) == (tuple(flags), tuple(values))
    assert parse_rule(format_rule(tree)) == tree


def test_tokens_compare_by_meaning() -> None:
    assert Token("<", None, 3) == Token("<", None, 9)
    assert hash(Token("", 5, 3)) == hash(Token("", 5, 9))
    assert Token("", 5) != Token("", "5")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a@0.03 > 106", Inequality(">", Variable("a", 30_000), Variable(106))),
        (
            "(302@.001 < 101@60) & r@1",
            And((Inequality("<", Variable(302, 1000), Variable(101, 60_000_000)), Variable("r", 1_000_000))),
        ),
        ("a@0", Variable("a")),
        ("a@0.000001", Variable("a", 1)),
    ],
)  # fmt: skip
def test_operands_have_delays(text: str, tree: Rule) -> None:
    assert parse_rule(text) == tree
    assert parse_rule(format_rule(tree)) == tree


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a@", r"'@' behind 'a' has no delay at column 2 \(seconds, 0 to 60, follow it at once"),
        ("a@-1 > b", "'@' behind 'a' has no delay"),
        ("a @1", "'@' has no meaning in a rule"),
        ("a@60.001", r"a delay of 60.001 s has no history at column 2 \(at most 60 s are kept\)"),
        ("a@1e3", "'e3' follows a complete expression"),
        ("a@0.0000001", "finer than a microsecond"),
        ("a@" + "9" * 4000, "has no history"),
    ],
)
def test_delays_that_cannot_be(text: str, words: str) -> None:
    with pytest.raises(RuleError, match=words):
        parse_rule(text)


def test_a_delay_takes_a_column_and_is_shown_with_its_operand() -> None:
    flags, values = encode_rule("302@0.03 > 106", 5)
    assert (flags, values) == ((0, 2, 1, 0, -1), (302, 30_000, 4, 106, 0))
    assert format_tokens(decode_tokens(flags, values), {302: "TC1_current"}) == "TC1_current@0.03 > 106"
    with pytest.raises(RuleError, match="4 tokens, but its HDSO holds 3"):
        encode_rule("302@0.03 > 106", 3)
    empty, symbol, two = ((2,), (5,)), ((1, 2), (1, 5)), ((0, 2, 2), (302, 5, 5))
    for wrong in (empty, symbol, two, ((0, 2), (302, 0)), ((0, 2), (302, 60_000_001))):
        with pytest.raises(RuleError, match="a delay"):
            decode_tokens(*wrong)


def test_a_delayed_rule_delays_what_it_is_made_of() -> None:
    assert shifted(parse_rule("(a@1 > b) | c"), 500_000) == parse_rule("(a@1.5 > b@0.5) | c@0.5")

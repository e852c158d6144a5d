"""The part of the table that some texts need finds in them what the whole table finds."""

from __future__ import annotations

import re
import sys
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from echoless.matching.languages import LANGUAGES, lexicon, units
from echoless.matching.values import patterns
from echoless.matching.values.patterns import Needs, PatternTable, needs_of, pattern
from tests.matching.rule_pairs import APART, SAME

PIECES = (
    *("a", "I", "K", "M", "5", "12", "3.5", "1,000", "1e5", "3.", "4.", "٣", "½", "²", "5k", "3rd"),
    *("km", "5km", "5 km/h", "$5", "€ 3/h", "5 % ", "µm", "5 μm", "9 °C", "Å", "2 square metres"),
    *("2025-03-04", "2025-03-04T10:30:00Z", "4/5", "5/4/2025", "12.03.2024", "3.4.", "am 5.2"),
    *("9:30", "9.30", "9 am", "a.m.", "p.m.", "Uhr", "o'clock", "9-17 Uhr", "1h30m", "PT90S"),
    *("may", "May 3", "12 march 2025", "jan", "Mär", "Mo", "Di-Fr", "Mo, 12", "5th of", "9-18"),
    *(
        "令和5年",
        "三月",
        "3月4日",
        "午後3時",
        "午後3:20",
        "9時半",
        "半分",
        "三分の一",
        "5個",
        "5万円",
    ),
    *(
        "月〜金",
        "土日",
        "(月)",
        "毎週",
        "カタカナ",
        "ひらがな",
        "漢字",
        "漢字_漢",
        "半時間",
        "5万円",
    ),
    *("foo_bar", "_x", "fooBar", "FooBar", "ABC", "foo()", "#tag", "#12", "a:b", "A1", "x2y"),
    *("A/B", "Anna/Ben", "b/c", "w/o", "~/x", "C:\\a", "-x", "--foo", "don't", "back-up", "A2-bel"),
    *("v2", "v1.2.3", "1.2.3", "file.py", ".env", "x.y.z", "http://a.b/c", "a@b.de", "[x]", "⏎"),
    *("123e4567-e89b-12d3-a456-426614174000", "no longer", "Must Not", "no earlier than"),
    *(
        "Straße",
        "MÄRZ",
        "ſ",
        "K",
        "✅",
        "=>",
        "~~",
        "…",
        "–",
        "—",
        ";",
        ":",
        ",",
        ".",
        "!",
        "(",
        ")",
    ),
    *('"', "'", "`", "\t", "$", "/", "-", "_", "h", "T", "v", ")"),
)
TEXTS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).flatmap(
    lambda pieces: st.sampled_from((" ".join(pieces), "".join(pieces), " ".join(pieces).upper()))
)

MEMORIES = [text for cases in (SAME, APART) for pair in cases.values() for text in pair]


@cache
def whole(language: str) -> re.Pattern[str]:
    return pattern(lexicon(language))


def found(table: re.Pattern[str], text: str) -> list[object]:
    return [
        (match.lastgroup, match.span(), {n: v for n, v in match.groupdict().items() if v})
        for match in table.finditer(text)
    ]


@settings(max_examples=40)
@given(text=TEXTS, language=st.sampled_from(LANGUAGES))
@example(text="Tisch 5 am Fenster, ab 3.4. um 9 Uhr", language="de")
def test_the_part_that_a_text_needs_finds_what_the_whole_finds(text: str, language: str) -> None:
    needs = needs_of(text, lexicon(language))
    assert needs is not None
    assert found(pattern(lexicon(language), needs), text) == found(whole(language), text)


def test_a_table_that_grows_finds_what_the_whole_finds() -> None:
    table = PatternTable(lexicon("en"))
    sizes = []
    for text in MEMORIES[: PatternTable.SHORT + 3]:
        part = table.pattern_for(text)
        sizes.append(len(part.pattern))
        assert found(part, text) == found(whole("en"), text)
    assert sizes == sorted(sizes)
    assert sizes[0] < len(whole("en").pattern) / 4
    assert sizes[-1] == len(whole("en").pattern)


def test_letters_that_equal_an_i_in_an_expression_only_ask_for_the_whole() -> None:
    assert needs_of("5 mİn", lexicon("en")) is None
    assert needs_of("no longer than 5 mın", lexicon("en")) is None


def test_folding_finds_each_letter_that_an_expression_takes_for_one_of_a_name() -> None:
    names = {*units()}.union(
        *({*lex.phrases, *lex.months, *lex.multipliers} for lex in map(lexicon, LANGUAGES))
    )
    every = "".join(map(chr, (*range(0xD800), *range(0xE000, sys.maxunicode + 1))))
    for letter in set("".join(names)):
        others = re.findall(f"(?i:{re.escape(letter)})", every)
        assert {other for other in others if other.casefold() != letter} <= patterns._WILD


@pytest.mark.parametrize("kind", ["uuid", "number", "time.named"])
def test_a_plain_sentence_needs_no_alternative_for_values(kind: str) -> None:
    needs = needs_of("The cat sleeps on the mat.", lexicon("en"))
    assert needs is not None
    assert kind not in needs.kinds
    assert needs.within(Needs(needs.kinds | {kind}, needs.units, needs.phrases))


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        (f"[{patterns._W}]", f"[{patterns._W_NARROW}]"),
        (patterns.LETTER, patterns._LETTER_NARROW),
    ],
)
def test_narrow_classes_match_what_the_wide_ones_match_where_no_wide_one_is_needed(
    wide: str, narrow: str
) -> None:
    every = map(chr, (*range(0xD800), *range(0xE000, sys.maxunicode + 1)))
    others = "".join(character for character in every if not patterns._is_wide(character))
    assert re.findall(narrow, others) == re.findall(wide, others)

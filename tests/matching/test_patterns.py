"""The parts of the table find in a text what the whole table finds."""

from __future__ import annotations

import re
import sys
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from echoless.matching.languages import LANGUAGES, lexicon
from echoless.matching.values import patterns
from echoless.matching.values.patterns import PatternTable, breadth_of, pattern
from echoless.matching.values.scanner import scan
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


def found_in_parts(table: PatternTable, text: str) -> list[object]:
    breadth, at, matches = breadth_of(text), 0, list[object]()
    while at < len(text):
        match = None if text[at].isspace() else table.match(text, at, breadth)
        if match is not None:
            named = {n: v for n, v in match.groupdict().items() if v}
            matches.append((match.lastgroup, match.span(), named))
        at = match.end() if match else at + 1
    return matches


@settings(max_examples=40)
@given(text=TEXTS, language=st.sampled_from(LANGUAGES))
@example(text="Tisch 5 am Fenster, ab 3.4. um 9 Uhr", language="de")
@example(text="24/7, 14-t\u00e4gig, 5 m\u0131n, 7 M\u0130N", language="de")
@example(text="\u094d() caf\u0065\u0301 \u017fec 5 \u212ag \u03a9\u03c2 \U0001f389", language="en")
def test_the_parts_by_first_character_find_what_the_whole_finds(text: str, language: str) -> None:
    assert found_in_parts(PatternTable(lexicon(language)), text) == found(whole(language), text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_parts_find_what_the_whole_finds_in_memories(language: str) -> None:
    table = PatternTable(lexicon(language))
    for text in MEMORIES:
        assert found_in_parts(table, text) == found(whole(language), text)


def test_a_text_of_plain_words_compiles_no_part_of_the_table() -> None:
    table = PatternTable(lexicon("en"))
    scan("The cat sleeps on the mat, and Ben (the dog) has 12 bones.", lexicon("en"))
    assert not table._parts


def test_few_parts_suffice_for_many_texts_of_one_language() -> None:
    table = PatternTable(lexicon("en"))
    for text in MEMORIES:
        found_in_parts(table, text)
    assert len(table._parts) <= 10


@pytest.mark.parametrize(
    "text", ["no longer", "NO LONGER,", "no longe", "no longer\u00e9", "no long"]
)
def test_an_entry_ends_where_an_expression_ends_it(text: str) -> None:
    expression = re.compile(rf"(?i:no longer)(?![{patterns._W}])").match(text)
    end = patterns.phrases_of(lexicon("en")).end_of(text, 0, "no")
    assert end == (expression.end() if expression else -1)


@pytest.mark.parametrize(
    "names", [{"a"}, {"a", "ab", "abc"}, {"km", "kg", "k", "\u00b0c"}, {"a b"}, set()]
)
def test_names_that_share_their_beginnings_match_as_a_list_longest_first(names: set[str]) -> None:
    listed = "|".join(sorted(map(re.escape, names), key=lambda n: (-len(n), n))) or "(?!)"
    for text in ("a", "ab", "abcd", "KG", "km/h", "k", "\u00b0C", "a b", "x", "\u212a"):
        one, other = (re.match(f"(?i:{each})", text) for each in (listed, patterns.any_of(names)))
        assert (one and one.span()) == (other and other.span())


@pytest.mark.parametrize("text", ["5 m\u0131n left", "5 M\u0130N left", "a 7 m\u0131 run"])
def test_a_unit_with_another_i_is_that_unit(text: str) -> None:
    assert scan(text, lexicon("en"))


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

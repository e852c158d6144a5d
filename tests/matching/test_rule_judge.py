"""What the full judge merges, what it keeps apart, and how it names the difference."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from echoless.core.model import (
    Contradiction,
    DifferenceKind,
    Duplicate,
    Memory,
    Pair,
    Sibling,
    Subsumes,
    Unsure,
    Update,
    Verdict,
    flipped,
    merges,
    richer,
)
from echoless.matching.facts import MAX_LENGTH, day_of
from echoless.matching.languages import lexicon, units
from echoless.matching.rule_judge import RuleJudge
from echoless.matching.values.cursor import forms_of
from tests.matching.rule_pairs import ADDS, APART, SAME

CLOSE = {"semantic": 0.95, "lexical": 0.9}


def verdict_of(a: str, b: str, signals: dict[str, float] | None = None) -> Verdict:
    pair = Pair(Memory(id="a", content=a), Memory(id="b", content=b), signals or CLOSE)
    return RuleJudge().judge(pair)


@pytest.mark.parametrize(("a", "b"), SAME.values(), ids=SAME.keys())
def test_the_same_in_another_form_is_a_duplicate(a: str, b: str) -> None:
    assert isinstance(verdict_of(a, b), Duplicate)


@pytest.mark.parametrize(("small", "large"), ADDS.values(), ids=ADDS.keys())
def test_what_only_adds_is_richer_and_merged_by_no_rule(small: str, large: str) -> None:
    verdict = verdict_of(small, large)
    assert isinstance(verdict, Unsure)
    assert richer(verdict) == "b"


@pytest.mark.parametrize(("a", "b"), APART.values(), ids=APART.keys())
def test_what_only_looks_alike_is_never_merged(a: str, b: str) -> None:
    assert not merges(verdict_of(a, b))


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        ("Ports are 3 in all", "Ports are 4 in all", DifferenceKind.NUMBER),
        ("Die Rate sinkt um 3 %", "Die Rate sinkt um 4 %", DifferenceKind.NUMBER),
        ("The tram leaves on Monday", "The tram leaves on Tuesday", DifferenceKind.DATE),
        ("Ticket LS-204 is done", "Ticket LS-240 is done", DifferenceKind.IDENTIFIER),
        ("It is in src/a.py", "It is in src/b.py", DifferenceKind.PATH),
        ("We asked Marlon about nuts", "We asked Martin about nuts", DifferenceKind.NAME),
        ("It retries rows", "It does not retry rows", DifferenceKind.NEGATION),
        ("Der Cache wird geleert", "Der Cache wird nicht geleert", DifferenceKind.NEGATION),
        ("請求は祝日に実行される", "請求は祝日に実行されない", DifferenceKind.NEGATION),
        ("The door is open", "The door is closed", DifferenceKind.POLARITY),
        ("It is always cold here", "It is never cold here", DifferenceKind.NEGATION),
        ("You may leave early", "You must leave early", DifferenceKind.MODALITY),
        ("Alle Räume sind frei", "Einige Räume sind frei", DifferenceKind.QUANTIFIER),
        ("In staging mail is captured", "In preview mail is captured", DifferenceKind.SCOPE),
        ("The cat chases the dog", "The dog chases the cat", DifferenceKind.ORDER),
        ("Timeouts are in seconds", "Timeouts are in milliseconds", DifferenceKind.UNIT),
    ],
)
def test_names_the_kind_of_difference(a: str, b: str, kind: DifferenceKind) -> None:
    assert verdict_of(a, b).evidence.difference is kind


def test_a_word_of_change_makes_an_update_and_tells_the_newer() -> None:
    verdict = verdict_of("The gym costs £32 a month", "The gym now costs £36 a month")
    assert isinstance(verdict, Update)
    assert verdict.newer == "b"


def test_a_plan_that_was_carried_out_is_an_update() -> None:
    verdict = verdict_of("PR 418 was merged after the review", "PR 418 is open for the review")
    assert isinstance(verdict, Update)
    assert verdict.newer == "a"


def test_times_decide_the_newer_where_both_speak_of_change() -> None:
    old = Memory(id="a", content="Now on Redis 6", created_at="2025-01-01")
    new = Memory(id="b", content="Now on Redis 7", created_at="2025-02-01")
    verdict = RuleJudge().judge(Pair(old, new, CLOSE))
    assert isinstance(verdict, Update)
    assert verdict.newer == "b"


def test_another_entity_is_a_sibling_and_another_claim_a_contradiction() -> None:
    assert isinstance(verdict_of("Order X-1 was late", "Order X-2 was late"), Sibling)
    assert isinstance(verdict_of("The tap leaks", "The tap does not leak"), Contradiction)


def test_similar_meaning_in_other_words_goes_to_a_person() -> None:
    verdict = verdict_of(
        "Samir takes his coffee strong without milk", "Black is how Samir drinks espresso"
    )
    assert not isinstance(verdict, Duplicate | Subsumes)


def test_a_text_too_long_to_read_is_merged_only_when_equal() -> None:
    long = "All is well. " * (MAX_LENGTH // 8)
    assert isinstance(verdict_of(long + "x", long + "y"), Unsure)
    assert isinstance(verdict_of(long, long + "\n"), Duplicate)


@pytest.mark.parametrize("noise", ["`", "*", "a-", "[", "#", " ", "'", "9", "漢", "あ", "a."])
def test_hostile_repetition_is_read_in_bounded_time(noise: str) -> None:
    text = noise * 8_000
    assert verdict_of(text + " one", text + " two").evidence.rule


ALL_PAIRS = [*SAME.values(), *ADDS.values(), *APART.values()]


@pytest.mark.parametrize(("a", "b"), ALL_PAIRS)
def test_exchanging_the_sides_exchanges_the_verdict(a: str, b: str) -> None:
    assert verdict_of(b, a) == flipped(verdict_of(a, b))


PIECES = sorted(set(itertools.chain.from_iterable(ALL_PAIRS)))
TEXTS = st.one_of(
    st.text(max_size=60),
    st.sampled_from(PIECES),
    st.lists(st.sampled_from([w for p in PIECES for w in p.split()]), max_size=9).map(" ".join),
)


@given(TEXTS, TEXTS)
def test_never_raises_is_symmetric_and_deterministic(a: str, b: str) -> None:
    verdict = verdict_of(a, b)
    assert verdict == verdict_of(a, b)
    assert verdict_of(b, a) == flipped(verdict)


RELATIVE = st.sampled_from(
    ["tomorrow", "last Monday", "来年", "あさって", "in 3 Tagen", "gestern", ""]
)
TIMES = st.sampled_from(
    [None, "2024-01-01", "2024-01-01T23:30:00-08:00", "0001-01-01", "9999-12-31", "soon", "-5"]
)


@example("会議は今月 at 12", "", "2024-01-01", "0001-01-01")
@given(TEXTS, RELATIVE, TIMES, TIMES)
def test_whichever_of_two_texts_of_two_days_comes_first_the_verdict_is_one(
    text: str, word: str, one: str | None, other: str | None
) -> None:
    content = f"{text} {word}"
    a = Memory(id="a", content=content, created_at=one)
    b = Memory(id="b", content=content, created_at=other)
    verdict = RuleJudge().judge(Pair(a, b, CLOSE))
    assert RuleJudge().judge(Pair(b, a, CLOSE)) == flipped(verdict)
    if day_of(one) is None or day_of(other) is None:
        assert isinstance(verdict, Duplicate), "nobody knows whether they speak of two days"


@given(TEXTS)
def test_a_text_is_a_duplicate_of_itself(text: str) -> None:
    assert isinstance(verdict_of(text, text), Duplicate)


@given(TEXTS, TEXTS, st.sampled_from(["2024-01-01", "2025-01-01", None]))
def test_merging_depends_on_the_contents_alone(a: str, b: str, when: str | None) -> None:
    plain = verdict_of(a, b)
    dated = RuleJudge().judge(
        Pair(
            Memory(id="z", content=a, created_at=when, tags=("x",), pinned=True),
            Memory(id="c", content=b, type="note"),
            CLOSE,
        )
    )
    if isinstance(plain, Duplicate | Subsumes) or isinstance(dated, Duplicate | Subsumes):
        assert plain == dated


def spaced(words: str) -> tuple[str, ...]:
    return tuple(words.split())


NUMBERS = spaced("1 2 3rd 5 12 30 99 007 1/2 1.5 3. 8:30 25:70 8pm 3h 1h30m 9-18 -5 10% v1.2 ²")
GLUE = spaced("of and the in to past at from between nach vor um bis , . ( - no. #")
VALUE_WORDS = tuple(
    sorted(
        {
            word
            for language in ("en", "de", "ja")
            for forms in [forms_of(lexicon(language))]
            for words in (
                *forms.sets.values(), *forms.parts, forms.fractions, forms.hour_parts,
                forms.ordinals, forms.starts,
            )
            for word in words
        }
        | units().keys()
    )
)  # fmt: skip


@example(["at", "30", "o'clock", "in the morning"])
@given(
    st.lists(st.one_of(*map(st.sampled_from, (NUMBERS, GLUE, VALUE_WORDS))), min_size=2, max_size=7)
)
def test_words_of_values_in_any_order_are_read(words: list[str]) -> None:
    text = " ".join(words)
    assert isinstance(verdict_of(text, text), Duplicate)
    assert verdict_of(text, f"{text} again").evidence

"""Tokens are looked up by what they have in common, with the result of comparing each with each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.matching import comparison
from echoless.matching.comparison import Forms, compare
from echoless.matching.facts import Facts, facts_of
from echoless.matching.languages import Lexicon, lexicon, opposable, opposites

PAIRS = Path(__file__).parents[2] / "benchmarks" / "pairs"
FORMS = (
    ("café at 8 pm", "cafe at eight"),
    ("It takes 240 s, 25 %", "It takes 240, a quarter"),
    ("BigQuery on 4/12, 10m", "bigquery on the fourth of December, 10 minutes"),
    ("Deploy `run()` at 18:00 UTC", "Deploy run at 8 pm CEST"),
    ("half of it was undone", "50 % of it was done"),
    ("nonstop, not allowed", "stop, denied"),
    ("Der Zugang ist nicht erlaubt, ungültig", "Der Zugang ist verboten, gültig"),
)


def texts() -> Iterator[tuple[str, str]]:
    """Pairs that say the same or nearly so, and pairs that have little in common."""
    yield from FORMS
    for path in sorted(PAIRS.glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()[::40]]
        yield from ((row["a"], row["b"]) for row in rows)
        yield from ((one["a"], other["b"]) for one, other in pairwise(rows))


def unsorted_forms(facts: Facts, _lexicon: Lexicon) -> Forms:
    """Says of each token that it may be any other one."""
    places = range(len(facts.tokens))
    every = frozenset({"any"})
    sorts = tuple("clock" for _ in places)
    return Forms(tuple(("any",) for _ in places), sorts, every, every)


def test_tokens_match_as_if_each_were_compared_with_each(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(facts_of(a), facts_of(b)) for a, b in texts()]
    looked_up = [compare(a, b) for a, b in pairs]
    monkeypatch.setattr(comparison, "forms_of", unsorted_forms)
    assert looked_up == [compare(a, b) for a, b in pairs]


def test_of_unlike_texts_few_tokens_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    plain = comparison._same_form

    def counted(*tokens: object) -> bool:
        nonlocal compared
        compared += 1
        return plain(*tokens)  # type: ignore[arg-type]

    monkeypatch.setattr(comparison, "_same_form", counted)
    pairs = [(facts_of(a), facts_of(b)) for a, b in texts()]
    for a, b in pairs:
        compare(a, b)
    looked_up, compared = compared, 0
    monkeypatch.setattr(comparison, "forms_of", unsorted_forms)
    for a, b in pairs:
        compare(a, b)
    assert looked_up * 10 < compared


def test_a_token_knows_its_place() -> None:
    for text in {text for pair in texts() for text in pair}:
        tokens = facts_of(text).tokens
        assert [token.place for token in tokens] == list(range(len(tokens)))


WORDS = {
    language: sorted(
        {
            *lexicon(language).antonyms,
            *lexicon(language).prefixes,
            *(f"{p}{w}" for p in lexicon(language).prefixes for w in lexicon(language).antonyms),
        }
    )
    for language in ("en", "de", "ja")
}


@given(st.data(), st.sampled_from(sorted(WORDS)))
def test_opposed_words_have_something_in_common(data: st.DataObject, language: str) -> None:
    lex = lexicon(language)
    some = st.sampled_from(WORDS[language]) | st.text("abdnounst", max_size=6)
    one = data.draw(some)
    partners = sorted(lex.antonyms.get(one, ())) + [f"{p}{one}" for p in lex.prefixes] + [one]
    other = data.draw(st.sampled_from(partners) | some)
    for x, y in ((one, other), (other, one)):
        if lex.opposed(x, y):
            assert not opposites(lex, x).isdisjoint(opposable(lex, y)), (x, y)

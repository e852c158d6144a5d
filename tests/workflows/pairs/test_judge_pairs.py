"""Pairs to the judge without a store: what is ruled, and what bars a merge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless import Memory, Vector
from echoless.core.errors import BadRecord, EncoderError, InputError, UsageError
from echoless.core.model import Duplicate, verdict_name
from echoless.core.run_notes import Tally
from echoless.workflows.pairs import Question, Ruling, judge_pairs, read_questions
from tests.conformance.encoders import WordBag
from tests.laws.worlds import quick

PORT = "The staging database listens on port 5432."
OTHER_PORT = "The staging database listens on port 5433."
KEY = "The spare alarm of the hallway rings after 30."
NAIL = "The spare alarm of the hallway rings after 30 s."


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", f"{tmp_path}/cache")


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> WordBag:
    made = WordBag()
    monkeypatch.setattr("echoless.models.encoders.registry.open_encoder", lambda _spec: made)
    return made


def ask(a: str | Memory, b: str | Memory, id_: str = "q") -> Question:
    one = Memory(id="a", content=a) if isinstance(a, str) else a
    other = Memory(id="b", content=b) if isinstance(b, str) else b
    return Question(id_, one, other)


def ruled(*questions: Question, **options: object) -> list[Ruling]:
    return list(judge_pairs(questions, encoder="none", **options))  # type: ignore[arg-type]


def one(a: str | Memory, b: str | Memory, **options: object) -> Ruling:
    (ruling,) = ruled(ask(a, b), **options)
    return ruling


def lines(*texts: str) -> list[bytes]:
    return [text.encode() for text in texts]


# ------------------------------------------------------------------ rulings


def test_the_same_text_is_a_duplicate_that_would_be_merged() -> None:
    ruling = one(PORT, PORT)
    assert ruling.to_json() == {
        "id": "q",
        "verdict": "duplicate",
        "merge": True,
        "similarity": 1.0,
        "chance": None,
        "difference": None,
        "evidence": "same text",
        "superset": None,
        "newer": None,
    }


def test_another_value_is_named_and_not_merged() -> None:
    ruling = one(PORT, OTHER_PORT)
    assert not ruling.merge
    assert ruling.to_json()["difference"] == "number"
    assert "5432 | 5433" in ruling.evidence


@pytest.mark.parametrize(("a", "b", "side"), [(KEY, NAIL, "b"), (NAIL, KEY, "a")])
def test_the_side_that_says_more_is_named(a: str, b: str, side: str) -> None:
    ruling = one(a, b)
    assert verdict_name(ruling.verdict) == "subsumes"
    assert ruling.to_json()["superset"] == side


def test_the_newer_side_is_named() -> None:
    ruling = one("The team uses Postgres 14.", "The team now uses Postgres 16.")
    assert ruling.to_json()["newer"] == "b"
    assert ruling.to_json()["superset"] is None


@pytest.mark.parametrize(
    ("a", "b", "merge", "says"),
    [
        ({"namespace": "x"}, {"namespace": "y"}, False, "another namespace"),
        ({"namespace": "x"}, {"namespace": "x"}, True, ""),
        ({"pinned": True}, {"pinned": True}, False, "both are pinned"),
        ({"pinned": True}, {}, True, ""),
    ],
)
def test_scope_and_protection_bar_a_merge_as_in_a_run(
    a: dict[str, object], b: dict[str, object], merge: bool, says: str
) -> None:
    ruling = one(Memory(id="a", content=PORT, **a), Memory(id="b", content=PORT, **b))  # type: ignore[arg-type]
    assert isinstance(ruling.verdict, Duplicate)
    assert ruling.merge is merge
    assert ruling.evidence.endswith(f"; not merged: {says}" if says else "same text")


@pytest.mark.parametrize(("pinned", "merge"), [("less", False), ("more", True)])
def test_a_pinned_memory_is_not_hidden_behind_one_that_says_more(pinned: str, merge: bool) -> None:
    less = Memory(id="a", content=KEY, pinned=pinned == "less")
    more = Memory(id="b", content=NAIL, pinned=pinned == "more")
    assert one(less, more).merge is merge


@pytest.mark.parametrize(
    "text",
    ["a NUL \0 inside", "half \ud800 of a pair", "x" * 1_000_001],
    ids=["nul", "half", "long"],
)
def test_what_a_run_leaves_out_is_not_compared(text: str) -> None:
    ruling = one(text, text)
    assert verdict_name(ruling.verdict) == "unsure"
    assert not ruling.merge
    assert ruling.evidence.startswith("not compared; a: ")
    assert ruling.verdict.evidence.veto


def test_a_profile_that_trusts_its_detectors_needs_one_to_propose_the_pair() -> None:
    apart = one("The cat sleeps.", "Invoices are due in March.", profile="wt-memory")
    assert verdict_name(apart.verdict) == "distinct"
    assert "no detector of the profile wt-memory proposes it" in apart.evidence
    close = one("Ben reviews pull requests.", "Ben reviews pull request.", profile="wt-memory")
    assert close.merge
    assert close.verdict.evidence.how == "sequence"
    assert one(PORT, PORT, profile="wt-memory").merge


def test_unknown_settings_are_told_before_anything_is_read() -> None:
    def unread() -> Iterator[Question]:
        pytest.fail("was read")
        yield

    for wrong in ({"profile": "wild"}, {"encoder": "crystal"}, {"verifier": "oracle"}):
        with pytest.raises(UsageError, match="Unknown"):
            judge_pairs(unread(), **wrong)


# ------------------------------------------------------------------ similarity


def test_similarity_is_the_cosine_where_there_is_an_encoder(encoder: WordBag) -> None:
    tally = Tally()
    (ruling,) = judge_pairs([ask("red green", "red blue")], tally=tally)
    left, right = encoder.encode(["red green", "red blue"])
    expected = float(left @ right / ((left @ left) * (right @ right)) ** 0.5)
    assert ruling.similarity == pytest.approx(max(0.0, expected), abs=1e-5)
    assert not tally.counts


def test_every_text_of_a_batch_is_encoded_once(encoder: WordBag) -> None:
    list(judge_pairs([ask(PORT, KEY), ask(KEY, PORT), ask(PORT, NAIL)]))
    asked = [text for call in encoder.asked for text in call]
    assert sorted(asked) == sorted({PORT, KEY, NAIL})


def test_a_text_without_a_vector_is_compared_by_words_and_counted(encoder: WordBag) -> None:
    encoder.encode = lambda texts: WordBag().encode([" " for _ in texts])  # type: ignore[method-assign]
    tally = Tally()
    (ruling,) = judge_pairs([ask(PORT, PORT, "p-9")], tally=tally)
    assert ruling.similarity == 1.0
    assert tally.skipped == {"no vector, compared by words only": ("p-9",)}


def test_stored_vectors_are_compared_where_nothing_is_encoded() -> None:
    import numpy as np

    def memory(id_: str, model: str, *numbers: float) -> Memory:
        data = np.array(numbers, dtype="<f4").tobytes()
        return Memory(id=id_, content=PORT + id_, vectors=(Vector(model, data),))

    a = memory("a", "m", 1.0, 0.0)
    assert one(a, memory("b", "m", 1.0, 1.0)).similarity == pytest.approx(0.707107)
    by_words = one(replace(a, vectors=()), memory("b", "m", 1.0, 1.0)).similarity
    assert one(a, memory("b", "other", 1.0, 1.0)).similarity == by_words


def test_an_encoder_that_fails_is_not_hidden(encoder: WordBag) -> None:
    encoder.fail_after = 0
    with pytest.raises(EncoderError):
        list(judge_pairs([ask(PORT, KEY)]))


WORDS = ("red", "blue", "never", "5432", "port", "Anna", "\ud800", "緑茶", "\0", "-", ".")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


@quick
@given(pairs=st.lists(st.tuples(TEXTS, TEXTS), max_size=8), size=st.integers(1, 4))
def test_a_ruling_depends_on_its_pair_alone(pairs: list[tuple[str, str]], size: int) -> None:
    questions = [ask(a, b, str(at)) for at, (a, b) in enumerate(pairs)]
    together = [r.to_json() for r in ruled(*questions)]
    assert together == [r.to_json() for q in questions for r in ruled(q)]
    assert together == [r.to_json() for r in ruled(*questions, batch=size)]
    for said in together:
        assert 0 <= float(str(said["similarity"])) <= 1
        assert "\n" not in str(said["evidence"])


@quick
@given(a=TEXTS, b=TEXTS)
def test_exchanging_the_sides_exchanges_the_answer(a: str, b: str) -> None:
    there, back = one(a, b), one(b, a)
    assert verdict_name(there.verdict) == verdict_name(back.verdict)
    assert (there.merge, there.similarity) == (back.merge, back.similarity)
    other = {"a": "b", "b": "a", None: None}
    said, turned = there.to_json(), back.to_json()
    assert [said[of] for of in ("superset", "newer")] == [
        other[turned[of]] for of in ("superset", "newer")
    ]


# ------------------------------------------------------------------ streaming


def test_answers_come_before_the_next_batch_is_read() -> None:
    read = []

    def questions() -> Iterator[Question]:
        for number in range(4):
            read.append(number)
            yield ask(PORT, KEY, str(number))

    answers = judge_pairs(questions(), encoder="none", batch=2)
    assert next(answers).question.id == "0"
    assert read == [0, 1]


def test_what_was_read_before_an_error_is_answered_first() -> None:
    def questions() -> Iterable[Question]:
        yield ask(PORT, PORT, "1")
        yield ask(PORT, KEY, "2")
        raise InputError("the third is broken")

    answers = judge_pairs(questions(), encoder="none")
    assert [next(answers).question.id, next(answers).question.id] == ["1", "2"]
    with pytest.raises(InputError, match="the third"):
        next(answers)


def test_no_questions_give_no_answers() -> None:
    assert ruled() == []


# ------------------------------------------------------------------ reading


def test_texts_and_memory_objects_are_read() -> None:
    (question,) = read_questions(
        lines(
            '{"id": 7, "a": "one", "b": {"text": "two", "project": "w", "ts": 1, "colour": "red"}}'
        ),
        "pairs",
    )
    assert (question.id, question.a.content, question.b.content) == ("7", "one", "two")
    assert (question.b.created_at, question.b.extra) == ("1", {"colour": "red"})


def test_a_bare_text_takes_the_scope_of_the_other_side() -> None:
    mixed, objects = read_questions(
        lines(
            '{"a": "one", "b": {"text": "two", "namespace": "w"}}',
            '{"a": {"text": "one"}, "b": {"text": "two", "namespace": "w"}}',
        ),
        "pairs",
    )
    assert mixed.a.namespace == mixed.b.namespace == "w"
    assert (objects.a.namespace, objects.b.namespace) == ("", "w")


def test_without_an_id_the_number_of_the_line_is_the_id() -> None:
    found = read_questions(lines('\ufeff{"a": "x", "b": "y"}', "", '{"a": "x", "b": "y"}'), "f")
    assert [question.id for question in found] == ["1", "3"]


BAD = {
    "{": "not JSON",
    "[1, 2]": "not a JSON object",
    '"text"': "not a JSON object",
    '{"a": "x"}': '"b" is missing',
    '{"b": "x"}': '"a" is missing',
    '{"a": "x", "b": null}': '"b" is missing',
    '{"a": "x", "b": 3}': '"b" is neither a text nor a memory object',
    '{"a": "x", "b": ["y"]}': '"b" is neither a text nor a memory object',
    '{"a": "x", "b": true}': '"b" is neither a text nor a memory object',
    '{"a": " \\u200b", "b": "y"}': 'the text of "a" is blank',
    '{"a": "x", "b": ""}': 'the text of "b" is blank',
    '{"a": {"content": " "}, "b": "y"}': 'the text of "a" is blank',
    '{"a": {}, "b": "y"}': '"a" has no text',
    '{"a": {"content": 3}, "b": "y"}': '"a" has no text',
    '{"a": {"text": "x", "tags": 3}, "b": "y"}': "in \"a\": 'tags' must be",
    '{"id": [], "a": "x", "b": "y"}': '"id" is neither text nor whole number',
    '{"id": 1.5, "a": "x", "b": "y"}': '"id" is neither text nor whole number',
    '{"n": ' + "9" * 5000 + ', "a": "x", "b": "y"}': "cannot be read",
    "[" * 1_100: "cannot be read",
}


@pytest.mark.parametrize(("line", "says"), BAD.items(), ids=lambda text: text[:40])
def test_a_line_that_is_no_pair_is_named_with_what_was_expected(line: str, says: str) -> None:
    with pytest.raises(BadRecord) as caught:
        list(read_questions(lines('{"a": "x", "b": "y"}', line), "pairs.jsonl"))
    said = str(caught.value)
    assert said.startswith("Line 2 of pairs.jsonl is no pair: ")
    assert says in said
    assert "Expected one JSON object" in said
    assert len(said) < 500


def test_bytes_that_are_no_text_are_named() -> None:
    with pytest.raises(
        BadRecord, match=r"Line 1 of f is no pair: it is not valid UTF-8 \(byte 8\)"
    ):
        list(read_questions([b'{"a": "\xff"}'], "f"))

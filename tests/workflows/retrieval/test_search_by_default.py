"""Search by words first, and what counts as similar at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from echoless import open_store, search, similar
from echoless.core.errors import UsageError
from echoless.workflows.retrieval.search import NO_WORDS, NOISE, NOT_NEAR

TEXTS = {
    "cat": "The cat sleeps on the sofa all afternoon.",
    "dog": "The dog waits at the garden gate.",
    "tax": "Quarterly tax returns are due in April.",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("store") / "notes.jsonl"
    lines = (json.dumps({"id": id_, "content": text}) for id_, text in TEXTS.items())
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_words_that_are_there_are_searched_without_an_encoder(store: str) -> None:
    with open_store(store) as opened:
        answer = search(opened, "garden gate", mode="auto")
    assert (answer.mode, [hit.memory.id for hit in answer.hits]) == ("text", ["dog"])


def test_words_that_are_nowhere_are_searched_by_meaning_and_it_says_so(store: str) -> None:
    with open_store(store) as opened:
        answer = search(opened, "sleepy kittens resting", mode="auto")
    assert (answer.mode, answer.hits[0].memory.id) == ("vector", "cat")
    assert NO_WORDS in answer.tally.notes


@pytest.mark.parametrize(
    "question", ["Where does the kitten rest?", "Where is it that the kitten naps?"]
)
def test_words_that_are_in_every_text_are_no_find(store: str, question: str) -> None:
    with open_store(store) as opened:
        answer = search(opened, question, mode="auto")
        only = search(opened, "the", mode="auto")
    assert (answer.query, answer.mode, answer.hits[0].memory.id) == (question, "vector", "cat")
    assert (only.mode, len(only.hits)) == ("text", 2)


def test_what_is_far_is_shown_with_a_warning_where_nothing_is_near(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    texts = {"pnpm": "Sam prefers pnpm over npm.", "day": "Deploys run on Fridays at ten."}
    path.write_text("".join(json.dumps({"id": k, "content": v}) + "\n" for k, v in texts.items()))
    with open_store(str(path)) as opened:
        answer = search(opened, "which package manager", mode="auto")
        food = search(opened, "favourite food", mode="auto")
    assert [hit.memory.id for hit in answer.hits] == ["pnpm"]
    assert NOT_NEAR in answer.tally.notes
    assert food.hits == ()


def test_without_an_encoder_there_is_nothing_more_to_find(store: str) -> None:
    with open_store(store) as opened:
        answer = search(opened, "zeppelin", mode="auto", encoder="none")
    assert (answer.mode, answer.hits) == ("text", ())


def test_what_is_as_far_as_unrelated_texts_is_not_similar_and_is_counted(store: str) -> None:
    with open_store(store) as opened:
        answer = similar(opened, "A cat is asleep on the sofa.")
        everything = similar(opened, "A cat is asleep on the sofa.", least=-1)
    least = NOISE["echoless-static"]
    near = [hit.memory.id for hit in everything.hits if hit.score >= least]
    assert [hit.memory.id for hit in answer.hits] == near
    assert near[0] == "cat"
    assert len(everything.hits) == 3
    left_out = f"Left out: {3 - len(near)} of 3 memories, whose similarity is below {least:g}."
    assert answer.tally.notes == (left_out,)


def test_words_that_are_nowhere_and_mean_nothing_here_find_nothing(store: str) -> None:
    with open_store(store) as opened:
        answer = search(opened, "zeppelin", mode="auto")
    assert (answer.hits, NO_WORDS in answer.tally.notes) == ((), False)


def test_an_unknown_mode_is_named(store: str) -> None:
    with open_store(store) as opened, pytest.raises(UsageError, match="Known: text, vector"):
        search(opened, "cat", mode="best")  # type: ignore[arg-type]

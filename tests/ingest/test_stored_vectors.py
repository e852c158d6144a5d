"""The door of a store whose records carry vectors: a new record gets one, or is refused."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from echoless import Admitted, AlreadyKnown, Choices, Memory, Vector, open_store, remember, resolve
from echoless.core.errors import EncoderError, UsageError
from echoless.stores.base import Store
from tests.conformance.encoders import WordBag

EGO = resolve(Choices(profile="ego"))
NAMED = resolve(Choices(profile="ego", encoder="bag"))
OLD = "The user likes short answers."


def vector(*components: float, model: str = "theirs") -> Vector:
    return Vector(model, struct.pack(f"<{len(components)}f", *components))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'agent.db'}", create=True) as opened:
        with opened.writing():
            opened.put([Memory(id="old", content=OLD, vectors=(vector(1, 0, 0, 0, 0, 0),))])
        yield opened


@pytest.fixture
def bag(monkeypatch: pytest.MonkeyPatch) -> WordBag:
    made = WordBag("bag@1", 6)
    monkeypatch.setattr("echoless.models.encoders.registry.open_encoder", lambda _spec: made)
    return made


def test_a_text_without_a_vector_is_refused_and_says_what_to_do(store: Store) -> None:
    with pytest.raises(UsageError, match="--encoder"):
        remember(store, "Something new.", settings=EGO)
    assert store.count() == 1


def test_a_vector_handed_in_decides_as_the_profile_says(store: Store) -> None:
    near = (vector(24, 7, 0, 0, 0, 0),)  # cosine .96
    known = remember(store, "Short answers, please.", settings=EGO, vectors=near)
    assert isinstance(known, AlreadyKnown)
    assert (known.survivor, known.match.similarity, known.match.how) == ("old", 0.96, "semantic")
    far = (vector(3, 4, 0, 0, 0, 0),)  # cosine .60
    new = remember(store, "Short answers, please.", settings=EGO, vectors=far)
    assert isinstance(new, Admitted)
    assert store.get([new.id])[new.id].vectors == far
    other = remember(store, "Wait 5 s.", settings=EGO, vectors=(vector(1, 0, 0, 0, 0, 0),))
    assert isinstance(other, Admitted)  # the number guard holds it


def test_a_named_encoder_makes_the_vector_of_the_new_record_only(
    store: Store, bag: WordBag
) -> None:
    new = remember(store, "The printer is out of toner.", settings=NAMED)
    assert isinstance(new, Admitted)
    (made,) = store.get([new.id])[new.id].vectors
    assert (made.model, made.dimensions) == ("theirs", 6)
    again = remember(store, "The printer is out of toner.", settings=NAMED)
    assert isinstance(again, AlreadyKnown)
    assert again.survivor == new.id
    assert not any(OLD in asked for asked in bag.asked)


def test_an_encoder_of_another_length_is_refused(store: Store, bag: WordBag) -> None:
    bag.dimensions = 5
    with pytest.raises(UsageError, match="5 components"):
        remember(store, "Something new.", settings=NAMED)
    assert store.count() == 1


def test_an_encoder_that_fails_leaves_the_store_as_it_was(store: Store, bag: WordBag) -> None:
    bag.fail_after = 0
    with pytest.raises(EncoderError):
        remember(store, "Something new.", settings=NAMED)
    assert store.count() == 1
    assert store.ledger.is_empty()

"""Checks a new text of a survivor against its sources, and gives it vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from echoless.core.errors import EcholessError, EncoderError, UsageError
from echoless.core.json_codec import bytes_to_floats, floats_to_bytes
from echoless.core.model import Memory, Vector
from echoless.core.text import is_blank
from echoless.execution.actions import Rewrite
from echoless.models.encoders import registry
from echoless.models.llm import Embed
from echoless.stores.base import Store
from echoless.workflows.consolidation.fact_check import LostFacts, lost_facts

if TYPE_CHECKING:
    from echoless.models.encoders.base import Encoder

_OWN: Final = 0.99
"""Cosine from which an encoder is taken for the model of a stored vector: it gives the stored text
this vector. Rounding, and servers that do not always answer alike, stay above 0.999."""


class NewVectors:
    """The source of vectors for new texts.

    A survivor without stored vectors needs none for its new text. One with vectors gets a new one
    by the same model: from `embed`; from the encoder that was named, which has to carry the model's
    name or give the survivor's present text the vector that is stored; or from the encoder that is
    installed, if it carries the model's name.
    """

    def __init__(self, embed: Embed | None = None, encoder: str | None = None) -> None:
        """Takes the source; an encoder is opened when it is needed.

        Args:
            embed: Vectors of texts, by the model whose vectors the store holds.
            encoder: `name:argument`, in place of `embed`.
        """
        self._embed = embed
        self._named = encoder
        self._opened: Encoder | None = None

    def of(self, keep: Memory, text: str) -> tuple[Vector, ...]:
        """Returns the vectors a survivor has with a new text.

        Raises:
            UsageError: No encoder fits, or it is unknown.
            EncoderError: The text could not be embedded.
            MissingExtra: The library of the encoder is not installed.
        """
        if not keep.vectors:
            return ()
        if self._embed is not None:
            return (_by_callable(keep, text, self._embed),)
        if self._opened is None:
            self._opened = registry.open_encoder(self._named or "auto")
        encoder = self._opened
        if encoder is None:
            raise UsageError(_none_fits(keep, None))
        for vector in keep.vectors:
            if vector.model == encoder.model:
                return (_vector(vector, _encoded(encoder, [text])[0], encoder.model),)
        if self._named is None or len(keep.vectors) > 1:
            raise UsageError(_none_fits(keep, encoder.model))
        return (_by_measure(keep, text, encoder),)


def new_text(
    store: Store, keep: Memory, gone: Sequence[Memory], text: str, *, vectors: NewVectors, by: str
) -> Rewrite:
    """Returns a new text of a memory that others go behind, for a plan; writes nothing.

    Numbers, names, paths, dates, negations and decisions of the sources have to be in it.

    Args:
        store: Of the memories.
        keep: The one that stays.
        gone: Those that go behind it. What stands hidden behind it already counts too.
        text: Has to keep the facts of all of them.
        vectors: Gives its vector where one is needed.
        by: Who wrote it.

    Raises:
        UsageError: The memory keeps its text, the new one is empty or loses a fact, or no encoder
            fits.
        EncoderError: The text could not be embedded.
        MissingExtra: The library of the encoder is not installed.
    """
    if keep.pinned:
        raise UsageError(f"{keep.id} is pinned: its text is not changed.")
    if why := store.protected(keep):
        raise UsageError(f"{keep.id} is protected and its text is not changed: {why}.")
    marks = store.ledger.marks_about([keep.id])
    behind = store.get([id_ for id_, mark in marks.items() if mark.survivor == keep.id])
    sources = [keep, *gone, *behind.values()]
    if is_blank(text):
        raise UsageError("content must not be empty")
    if lost := _facts_lost([memory.content for memory in sources], text):
        losing = [memory.id for memory in sources if _facts_lost([memory.content], text)]
        losers = " and ".join(losing or (memory.id for memory in sources))
        raise UsageError(
            f"The new text loses {lost.line()!r} of {losers}; nothing was merged. "
            "Keep what all of them say, or keep them apart."
        )
    return Rewrite(text, vectors.of(keep, text), by)


def _facts_lost(sources: Sequence[str], text: str) -> LostFacts:
    """Returns lost facts other than plain words, which are the writer's own choice."""
    return replace(lost_facts(sources, text), words=())


def _none_fits(keep: Memory, tried: str | None) -> str:
    """Returns the message that no encoder gives the vector a survivor needs."""
    models = ", ".join(repr(vector.model) for vector in keep.vectors)
    instead = f", and {tried!r} is another" if tried else ""
    return (
        f"{keep.id} has a vector of the model {models}, and its new text needs one of the same "
        f"model{instead}. Name its encoder with --encoder NAME:ARG (`encoder=` in Python); "
        "`echoless encoders` lists those there are. Nothing was merged."
    )


def _by_callable(keep: Memory, text: str, embed: Embed) -> Vector:
    """Returns the vector of a text by the caller's own function."""
    if len(keep.vectors) > 1:
        raise UsageError(
            f"{keep.id} has vectors of {len(keep.vectors)} models; say with `encoder` which of "
            "them the new text is to have."
        )
    (old,) = keep.vectors
    try:
        (row,) = embed([text])
        numbers = [float(each) for each in row]
    except Exception as problem:  # the callable is foreign code
        raise EncoderError(f"embedding failed: {problem}. Nothing was written.") from problem
    return _vector(old, numbers, "it")


def _by_measure(keep: Memory, text: str, encoder: Encoder) -> Vector:
    """Returns the vector of an encoder of another name that gives the old text its old vector."""
    (old,) = keep.vectors
    before, after = _encoded(encoder, [keep.content, text])
    if len(before) == old.dimensions and not is_blank(keep.content):
        from echoless.blocking.vector_join import exact_join

        near = exact_join.cosine(bytes_to_floats(old.data), before)
        if near is not None and near >= _OWN:
            return _vector(old, after, encoder.model)
    raise UsageError(_none_fits(keep, encoder.model))


def _encoded(encoder: Encoder, texts: Sequence[str]) -> list[list[float]]:
    """Returns the vectors of texts as lists of numbers."""
    rows: list[list[float]] = encoder.encode(texts).tolist()
    return rows


def _vector(old: Vector, row: Sequence[float], who: str) -> Vector:
    """Returns a row as a vector with the model of the old vector.

    Raises:
        EncoderError: It has another length, is zero, or is not finite.
    """
    try:
        data = floats_to_bytes(row, old.model)
    except EcholessError as problem:
        raise EncoderError(f"embedding failed: {problem}. Nothing was written.") from problem
    if len(data) != len(old.data):
        raise EncoderError(
            f"embedding failed: the new vector has {len(row)} components, the collection's have "
            f"{old.dimensions}. Embed with the model of the collection; {who} is another. Nothing "
            "was written."
        )
    if not any(row) or not all(map(math.isfinite, row)):
        raise EncoderError(
            "embedding failed: the new vector is zero or not finite. Nothing was written."
        )
    return Vector(old.model, data)

"""A new text for a survivor: checked against its sources, with the vectors that belong to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from echoless.actions import Rewrite
from echoless.codec import bytes_to_floats, floats_to_bytes
from echoless.errors import EcholessError, EncoderError, UsageError
from echoless.facts_kept import LostFacts, lost_facts
from echoless.llm import Embed
from echoless.model import Memory, Vector
from echoless.text import is_blank

if TYPE_CHECKING:
    from echoless.vectors.base import Encoder

_OWN: Final = 0.99
"""Cosine from which an encoder is taken for the model of a stored vector: it gives the stored text
this vector. Rounding, and servers that do not always answer alike, stay above 0.999."""


class NewVectors:
    """Where the vectors of new texts come from.

    A survivor without stored vectors needs none for its new text. One with vectors gets a new one
    by the same model: from `embed`; from the encoder that was named, which has to carry the model's
    name or give the survivor's present text the vector that is stored; or from the encoder that is
    installed, if it carries the model's name.
    """

    def __init__(self, embed: Embed | None = None, encoder: str | None = None) -> None:
        """Open nothing yet.

        Args:
            embed: Vectors of texts, by the model whose vectors the store holds.
            encoder: `name:argument`, in place of `embed`.
        """
        self._embed = embed
        self._named = encoder
        self._opened: Encoder | None = None

    def of(self, keep: Memory, text: str) -> tuple[Vector, ...]:
        """The vectors a survivor has with a new text.

        Raises:
            UsageError: No encoder fits, or it is unknown.
            EncoderError: The text could not be embedded.
            MissingExtra: The library of the encoder is not installed.
        """
        if not keep.vectors:
            return ()
        if self._embed is not None:
            return (_by_callable(keep, text, self._embed),)
        made = self._encoder()
        if made is None:
            raise UsageError(_none_fits(keep, None))
        for vector in keep.vectors:
            if vector.model == made.model:
                return (_vector(vector, _encoded(made, [text])[0], made.model),)
        if self._named is None or len(keep.vectors) > 1:
            raise UsageError(_none_fits(keep, made.model))
        return (_by_measure(keep, text, made),)

    def _encoder(self) -> Encoder | None:
        if self._opened is None:
            from echoless.vectors.registry import open_encoder  # noqa: PLC0415 - seldom asked for

            self._opened = open_encoder(self._named or "auto")
        return self._opened


def rewrite_of(
    keep: Memory, sources: Sequence[Memory], text: str, *, vectors: NewVectors, by: str
) -> Rewrite:
    """A survivor's new text, as a plan takes it. Writes nothing.

    Numbers, names, paths, dates, negations and decisions of the sources have to be in it. A model's
    text is held to more before it comes here, see `proposing`.

    Args:
        keep: The survivor.
        sources: All memories whose facts the text has to keep.
        text: The new text.
        vectors: Gives its vector where one is needed.
        by: Who wrote the text, for the reader of the plan.

    Raises:
        UsageError: The text is empty or loses a fact, or no encoder fits.
        EncoderError: The text could not be embedded.
        MissingExtra: The library of the encoder is not installed.
    """
    if is_blank(text):
        raise UsageError("content must not be empty")
    if lost := _facts_lost([memory.content for memory in sources], text):
        raise UsageError(
            f"The new text loses {lost.line()!r} of {_losers(sources, text)}; nothing was merged. "
            "Keep what all of them say, or keep them apart."
        )
    return Rewrite(text, vectors.of(keep, text), by)


def _facts_lost(sources: Sequence[str], text: str) -> LostFacts:
    """What may not be lost, whoever wrote the text; plain words are the writer's own choice."""
    return replace(lost_facts(sources, text), words=())


def _losers(sources: Sequence[Memory], text: str) -> str:
    """Ids of the memories that lose something, as far as one can be told from the others."""
    losing = [memory.id for memory in sources if _facts_lost([memory.content], text)]
    return " and ".join(losing or (memory.id for memory in sources))


def _none_fits(keep: Memory, tried: str | None) -> str:
    models = ", ".join(repr(vector.model) for vector in keep.vectors)
    instead = f", and {tried!r} is another" if tried else ""
    return (
        f"{keep.id} has a vector of the model {models}, and its new text needs one of the same "
        f"model{instead}. Name its encoder with --encoder NAME:ARG (`encoder=` in Python); "
        "`echoless encoders` lists those there are. Nothing was merged."
    )


def _by_callable(keep: Memory, text: str, embed: Embed) -> Vector:
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


def _by_measure(keep: Memory, text: str, made: Encoder) -> Vector:
    """The vector of an encoder that goes by another name, if it gives the old text the old one."""
    from echoless.vectors.join import cosine  # noqa: PLC0415 - brings in numpy

    (old,) = keep.vectors
    before, after = _encoded(made, [keep.content, text])
    if len(before) == old.dimensions and not is_blank(keep.content):
        near = cosine(bytes_to_floats(old.data), before)
        if near is not None and near >= _OWN:
            return _vector(old, after, made.model)
    raise UsageError(_none_fits(keep, made.model))


def _encoded(made: Encoder, texts: Sequence[str]) -> list[list[float]]:
    rows: list[list[float]] = made.encode(texts).tolist()
    return rows


def _vector(old: Vector, row: Sequence[float], who: str) -> Vector:
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

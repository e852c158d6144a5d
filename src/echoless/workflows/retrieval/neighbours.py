"""Finds the memories closest to a memory or a text, in any store."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from echoless.core.eligibility import eligible
from echoless.core.errors import InputError
from echoless.core.model import Memory
from echoless.core.run_notes import Progress, Tally
from echoless.core.settings import Settings
from echoless.models.encoders.registry import open_vectoriser
from echoless.models.encoders.vectorizer import MemoryVectoriser
from echoless.stores.base import Scope, Store, check_namespace
from echoless.stores.ledger import outdated

if TYPE_CHECKING:
    from echoless.models.encoders.base import Vectoriser

BY_WORDING: Final = "There is no vector to compare by, so only the wording was compared."

ASKED: Final = "\0asked"
"""Id of a text that is asked about and lies in no store."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory near another one.

    Attributes:
        memory: The memory.
        similarity: Cosine, or the share of wording where there is no vector; six decimals.
        linked: Whether a link joins it with the other, in either direction.
    """

    memory: Memory
    similarity: float
    linked: bool


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The answer of `neighbours`.

    Attributes:
        base: What was asked about.
        nearest: Closest first, then by id.
        tally: What was left out, and why.
    """

    base: Memory
    nearest: tuple[Neighbour, ...]
    tally: Tally


def memory_of(store: Store, id_: str) -> Memory:
    """Returns one memory of a store.

    Raises:
        InputError: The store has no such memory.
    """
    memory = store.get([id_]).get(id_)
    if memory is None:
        raise InputError(f"There is no memory {id_!r} in {store.url}. Search for it by words.")
    return memory


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourQuery:
    """Limits of a search for neighbours of a memory.

    Attributes:
        namespaces: Only these; None for all.
        limit: At most so many, from 1.
        least: Similarity, 0 to 1, inclusive.
        exclude_linked: Leave out memories linked with the base in either direction.
    """

    namespaces: Collection[str] | None = None
    limit: int = 10
    least: float = 0.85
    exclude_linked: bool = True


def neighbours(
    store: Store,
    base: Memory,
    settings: Settings,
    query: NeighbourQuery,
    progress: Progress | None = None,
) -> Neighbours:
    """Finds the visible, living memories closest to one; reads only.

    Filtered first, then ranked, then cut. Compared by vectors; by wording (`sequence`) where the
    base has none.

    Args:
        store: Any open store.
        base: A memory of it, or a text dressed as one with the id `ASKED`.
        settings: Names encoder and cache, and when a memory has expired.
        query: Which memories count.
        progress: Told how far encoding is.

    Raises:
        UsageError: A namespace or the encoder is unknown.
        EncoderError: The encoder failed.
    """
    tally = Tally()
    visible = _visible(store, query.namespaces, settings, tally)
    others = [memory for memory in visible if memory.id != base.id]
    targets = {link.target for link in base.links}
    linked = {
        memory.id
        for memory in others
        if memory.id in targets or any(link.target == base.id for link in memory.links)
    }
    if query.exclude_linked:
        others = [m for m in others if m.id not in linked]
    scores = _scores(base, others, settings, tally, progress)
    near = [Neighbour(m, scores[m.id], m.id in linked) for m in others if m.id in scores]
    near = [each for each in near if each.similarity >= query.least]
    near.sort(key=lambda each: (-each.similarity, each.memory.id))
    return Neighbours(base, tuple(near[: query.limit]), tally)


def _visible(
    store: Store, namespaces: Collection[str] | None, settings: Settings, tally: Tally
) -> list[Memory]:
    """Returns memories that can be compared and are not hidden; counts the others."""
    chosen = [None] if namespaces is None else sorted(set(namespaces))
    for name in chosen:
        check_namespace(store, name)
    memories = {memory.id: memory for name in chosen for memory in store.scan(Scope(name))}
    marks = store.ledger.marks()
    stale = {mark.duplicate for mark in outdated(marks.values(), memories)}
    hidden = {id_: mark.survivor for id_, mark in marks.items() if id_ not in stale}
    return eligible(memories, hidden, tally, settings.profile)


def _scores(
    base: Memory, others: list[Memory], settings: Settings, tally: Tally, progress: Progress | None
) -> dict[str, float]:
    """Returns similarities to the base by id: cosines, or wording where the base has no vector."""
    tell = progress or (lambda _stage, _done, _all: None)
    encoding = Tally()
    vectors = open_vectoriser(
        settings.encoder,
        cache=settings.cache,
        progress=lambda done, whole: tell("encoding", done, whole),
    )
    scores = closeness(base, others, vectors, encoding)
    if scores or not others or not any(base.id in ids for ids in encoding.skipped.values()):
        for reason, ids in encoding.skipped.items():
            tally.skip(reason, *(i for i in ids if i != base.id))
        return scores
    tally.note(BY_WORDING)
    from echoless.blocking.detectors import sequence

    for at, memory in enumerate(others):
        if at % 1000 == 0:
            tell("comparing the wording", at, len(others))
        scores[memory.id] = round(sequence.ratio(base.content, memory.content), 6)
    return scores


# ------------------------------------------------------------------ similarity


def closeness(
    question: Memory, memories: Sequence[Memory], vectors: Vectoriser, tally: Tally
) -> dict[str, float]:
    """Returns the cosine of each memory with a question, in the model that sees them closest.

    Args:
        question: A memory, or a text dressed as one; its parts are averaged.
        memories: The others.
        vectors: Where vectors come from.
        tally: Takes what has none, the question under its own id too.

    Returns:
        -1 to 1 with six decimals, by id; memories that cannot be compared are left out.

    Raises:
        EncoderError: The encoder failed.
    """
    scores: dict[str, float] = {}
    for matrix in vectors.matrices([question, *memories], tally):
        asked = matrix.owners == 0
        if not asked.any():
            continue
        rows = matrix.rows.astype("float64")
        unit = rows / (rows**2).sum(axis=1, keepdims=True) ** 0.5
        mean = unit[asked].mean(axis=0)
        cosines: list[float] = (unit @ (mean / (mean**2).sum() ** 0.5)).tolist()
        for owner, cosine in zip(matrix.owners.tolist(), cosines, strict=True):
            if owner:
                id_ = memories[owner - 1].id
                scores[id_] = max(scores.get(id_, -1.0), round(cosine, 6))
    return scores


def close_pairs(
    memories: Sequence[Memory], least: float, tally: Tally
) -> Iterator[tuple[Memory, Memory, float]]:
    """Yields the pairs of memories whose stored vectors reach a cosine, in no order.

    Args:
        memories: Any memories.
        least: The cosine, -1 to 1, inclusive.
        tally: Takes what cannot be compared.
    """
    from echoless.blocking.vector_join import exact_join

    for matrix in MemoryVectoriser().matrices(memories, tally):
        for i, j, cosines in exact_join.pairs_above(matrix.rows, least):
            owners = zip(matrix.owners[i].tolist(), matrix.owners[j].tolist(), strict=True)
            for (one, other), cosine in zip(owners, cosines.tolist(), strict=True):
                yield memories[one], memories[other], cosine

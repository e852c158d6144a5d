"""Search by words, by vector or both; duplicates fold under their survivor and free their place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from echoless.candidates import Progress
from echoless.errors import UsageError
from echoless.ledger import Mark
from echoless.model import Memory
from echoless.recovery import outdated
from echoless.stores import full_text
from echoless.stores.base import Scope, Store, TextSearch, check_namespace
from echoless.tally import Tally
from echoless.text import is_blank

Mode = Literal["text", "vector", "hybrid"]
MODES: Final[tuple[Mode, ...]] = ("text", "vector", "hybrid")

FUSION: Final = 60
"""The constant of reciprocal rank fusion, `1 / (60 + rank)`. Source: Cormack, Clarke and Büttcher,
Reciprocal Rank Fusion outperforms Condorcet and individual rank learning methods, SIGIR 2009."""

_DEPTH: Final = 100
"""Hits of each ranking that take part in the fusion, at least."""

_QUERY: Final = "\0query"


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer.

    Attributes:
        memory: The memory.
        score: Higher is better; BM25, cosine or fused ranks by the mode.
        hidden: Ids of duplicates that matched too and stand behind this one.
        survivor: For a duplicate shown on request, the memory it stands behind.
    """

    memory: Memory
    score: float
    hidden: tuple[str, ...] = ()
    survivor: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """Hits, and how many duplicates were hidden to make room for them."""

    query: str
    mode: Mode
    hits: tuple[Hit, ...]
    hidden: int
    tally: Tally


def search(
    store: Store,
    query: str,
    *,
    mode: Mode = "text",
    limit: int = 10,
    namespace: str | None = None,
    include_duplicates: bool = False,
    encoder: str = "auto",
    cache: bool = True,
    progress: Progress | None = None,
) -> Answer:
    """Search a store. Reads only; access counts do not change.

    Args:
        store: Any store; one without text search of its own is indexed in memory.
        query: Words, or any text.
        mode: `text`, `vector`, or `hybrid` (both, by reciprocal rank fusion).
        limit: At most so many hits, from 1. Places freed by hidden duplicates are filled up.
        namespace: Only this one.
        include_duplicates: Show marked duplicates as hits of their own.
        encoder: For vectors, as in `find`.
        cache: Whether to use the vector cache.
        progress: Told how far encoding is.

    Raises:
        UsageError: Empty query, unknown mode or namespace, limit below 1, no encoder for vectors.
    """
    _check(store, query, mode, limit, namespace)
    tally = Tally()
    marks = store.ledger.marks()
    wanted = limit
    with ExitStack() as open_:
        vectors = _Vectors(encoder, cache, progress or (lambda _stage, _done, _all: None))
        rank = _ranker(store, query, Scope(namespace), mode, vectors, tally, open_)
        while True:
            ranked = rank(wanted)
            hits = _fold(store, ranked, marks, limit, include=include_duplicates)
            if len(hits) == limit or len(ranked) < wanted:
                return Answer(query, mode, tuple(hits), sum(len(h.hidden) for h in hits), tally)
            wanted *= 4


def _check(store: Store, query: str, mode: str, limit: int, namespace: str | None) -> None:
    if not query.strip():
        raise UsageError("The query is empty. Give some words to search for.")
    if mode not in MODES:
        raise UsageError(f"Unknown search mode {mode!r}. Known: {', '.join(MODES)}.")
    if limit < 1:
        raise UsageError(f"--limit must be a whole number from 1, not {limit}.")
    check_namespace(store, namespace)


@dataclass(frozen=True, slots=True)
class _Vectors:
    encoder: str
    cache: bool
    tell: Progress


Ranked: TypeAlias = Sequence[tuple[str, float]]


def _ranker(
    store: Store,
    query: str,
    scope: Scope,
    mode: Mode,
    vectors: _Vectors,
    tally: Tally,
    open_: ExitStack,
) -> Callable[[int], Ranked]:
    """A function from a number to so many ids with scores, best first."""
    if mode == "text":
        return _by_words(store, query, scope, open_)
    nearest = _by_vector(store, query, scope, vectors, tally)
    if mode == "vector":
        return lambda limit: nearest[:limit]
    by_words = _by_words(store, query, scope, open_)
    return lambda limit: _both(limit, by_words, nearest)


def _both(limit: int, by_words: Callable[[int], Ranked], nearest: Ranked) -> Ranked:
    """The two rankings fused, each read deeper than asked: the best of both may lead in neither."""
    depth = max(_DEPTH, 4 * limit)
    return fused([by_words(depth), nearest[:depth]])[:limit]


def _by_words(store: Store, query: str, scope: Scope, open_: ExitStack) -> Callable[[int], Ranked]:
    if isinstance(store, TextSearch):
        return lambda limit: store.search_text(query, scope, limit)
    database, ids = full_text.index(store.scan(scope))
    open_.enter_context(closing(database))
    return lambda limit: [
        (ids[name], score)
        for name, score in full_text.search(database.connection, query, None, limit)
    ]


def fused(rankings: Sequence[Ranked]) -> Ranked:
    """Reciprocal rank fusion, best first, ties by id."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, (id_, _) in enumerate(ranking, 1):
            scores[id_] = scores.get(id_, 0.0) + 1 / (FUSION + rank)
    return sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))


def _by_vector(store: Store, query: str, scope: Scope, vectors: _Vectors, tally: Tally) -> Ranked:
    """Every memory that has a vector of a model the query can be encoded with, closest first."""
    from echoless.vectors.closeness import closeness  # noqa: PLC0415 - only where it is used
    from echoless.vectors.opening import open_vectoriser  # noqa: PLC0415

    seen = Tally()
    vectoriser = open_vectoriser(
        vectors.encoder,
        cache=vectors.cache,
        tally=seen,
        progress=lambda done, whole: vectors.tell("encoding", done, whole),
        prefer_stored=False,
    )
    question = Memory(id=_QUERY, content=query)
    memories = [m for m in store.scan(scope) if not is_blank(m.content)]
    scores = closeness(question, memories, vectoriser, seen)
    if memories and not scores:
        raise UsageError(
            "Searching by vector needs an encoder for the query. Install one with "
            "pip install 'echoless[use]', name one with --encoder, or use --mode text."
        )
    for reason, ids in seen.skipped.items():
        tally.skip(reason, *(i for i in ids if i != _QUERY))
    return sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))


def _fold(
    store: Store,
    ranked: Ranked,
    marks: Mapping[str, Mark],
    limit: int,
    *,
    include: bool,
) -> list[Hit]:
    """Put each duplicate behind its survivor, at the place of whichever came first."""
    wanted = {i for i, _ in ranked} | {marks[i].survivor for i, _ in ranked if i in marks}
    memories = store.get(wanted)
    stale = {mark.duplicate for mark in outdated(marks.values(), memories)}
    behind_of = {i: mark.survivor for i, mark in marks.items() if i not in stale}
    behind: dict[str, list[str]] = {}
    places: dict[str, float] = {}
    for id_, score in ranked:
        survivor = behind_of.get(id_)
        folded = survivor is not None and survivor in memories and not include
        shown = survivor if folded and survivor is not None else id_
        if shown not in places and len(places) == limit:
            break
        places.setdefault(shown, score)
        if folded:
            behind.setdefault(shown, []).append(id_)
    return [
        Hit(memories[id_], score, tuple(behind.get(id_, ())), behind_of.get(id_))
        for id_, score in places.items()
        if id_ in memories
    ]


def similar(
    store: Store,
    text: str,
    *,
    limit: int = 10,
    namespace: str | None = None,
    encoder: str = "auto",
    cache: bool = True,
    progress: Progress | None = None,
) -> Answer:
    """Memories most like a text, with their cosine; by words (BM25) where there is no encoder."""
    try:
        return search(
            store,
            text,
            mode="vector",
            limit=limit,
            namespace=namespace,
            encoder=encoder,
            cache=cache,
            progress=progress,
        )
    except UsageError as problem:
        if "needs an encoder" not in str(problem):
            raise
        answer = search(store, text, mode="text", limit=limit, namespace=namespace)
        answer.tally.note("No encoder is at hand, so only words were compared.")
        return answer

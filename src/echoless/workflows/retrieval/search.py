"""Searches by words, by vector or by both; duplicates and old values give their place away."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal, TypeAlias

from echoless.core.errors import UsageError
from echoless.core.json_codec import memory_to_json
from echoless.core.model import Json, Memory
from echoless.core.run_notes import Progress, Tally
from echoless.core.text import is_blank
from echoless.matching.languages import fold, language_of, lexicon
from echoless.models.encoders.registry import open_vectoriser
from echoless.stores import full_text
from echoless.stores.base import Scope, Store, TextSearch, check_namespace
from echoless.stores.reading import OlderValue, ValuesInForce, values_in_force
from echoless.workflows.retrieval.neighbours import closeness

Mode = Literal["text", "vector", "hybrid", "auto"]

NO_WORDS: Final = "The words are in no memory, so these are the closest by meaning."

NOISE: Final[Mapping[str, float]] = {"echoless-static": 0.25}
"""Cosine below which an encoder sees nothing in common, by the model without its edition. In
sample.jsonl 97.6 % of the pairs of memories of two clusters are below .25, and 5 of the 456 pairs
of one. Cosines of models have no common scale, so others have none here."""

FAR: Final = 0.11
FEW: Final = 3
"""Where nothing is near, so many memories from this cosine on are shown. `Sam prefers pnpm over
npm` has .13 to `which package manager` with `fast`, and .08 to `favourite food`."""

NOT_NEAR: Final = "Nothing is near. These are the closest, and may be about something else."

ANY: Final = -1.0
"""The least cosine there is: every memory may be a hit."""

MODES: Final[tuple[Mode, ...]] = ("text", "vector", "hybrid", "auto")

FUSION: Final = 60
"""The constant of reciprocal rank fusion, `1 / (60 + rank)`. Source: Cormack, Clarke and Büttcher,
Reciprocal Rank Fusion outperforms Condorcet and individual rank learning methods, SIGIR 2009."""

_DEPTH: Final = 100
"""Hits of each ranking that take part in the fusion, at least."""

_QUERY: Final = "\0query"


class NoQueryVector(UsageError):
    """Error for a search by vector without an encoder that could encode the query."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One hit of a search.

    Attributes:
        memory: The memory.
        score: Higher is better; BM25, cosine or fused ranks by the mode.
        hidden: Ids of duplicates that matched too and stand behind this one.
        survivor: For a duplicate shown on request, the memory it stands behind.
        older: Memories whose value this one replaced, latest first.
    """

    memory: Memory
    score: float
    hidden: tuple[str, ...] = ()
    survivor: str | None = None
    older: tuple[OlderValue, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """Hits of a search, and how many duplicates were hidden to make room for them."""

    query: str
    mode: Mode
    hits: tuple[Hit, ...]
    hidden: int
    tally: Tally

    def to_json(self) -> dict[str, Json]:
        """Returns the documented answer of `search --json`, vectors by model and length only."""
        hits: list[Json] = [
            {
                **memory_to_json(hit.memory),
                "vectors": {vector.model: vector.dimensions for vector in hit.memory.vectors},
                "score": hit.score,
                "hidden": list(hit.hidden),
                "survivor": hit.survivor,
                "older": [
                    {"id": each.memory.id, "content": each.memory.content, "until": each.until}
                    for each in hit.older
                ],
            }
            for hit in self.hits
        ]
        return {
            "query": self.query,
            "mode": self.mode,
            "hits": hits,
            "hidden": self.hidden,
            "skipped": dict(self.tally.counts),
            "notes": list(self.tally.notes),
        }


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
    least: float | None = ANY,
    progress: Progress | None = None,
) -> Answer:
    """Searches a store; reads only, and access counts do not change.

    Args:
        store: Any store; one without text search of its own is indexed in memory.
        query: Words, or any text.
        mode: `text`, `vector`, `hybrid` (both, by reciprocal rank fusion), or `auto`: by words that
            say something (not `when`, `do` or `we`), and by vector where these are in no memory and
            an encoder is at hand.
        limit: At most so many hits, from 1. Places freed by hidden duplicates are filled up.
        namespace: Only this one.
        include_duplicates: Show marked duplicates as hits of their own.
        encoder: For vectors, as in `find`.
        cache: Whether to use the vector cache.
        least: Memories whose cosine is below it are no hits by vector, and are counted. None: the
            one in `NOISE` for the encoder, which is also the default of the mode `auto`.
        progress: Told how far encoding is.

    Raises:
        UsageError: Empty query, unknown mode or namespace, limit below 1, no encoder for vectors.
    """
    if not query.strip():
        raise UsageError("The query is empty. Give some words to search for.")
    if mode not in MODES:
        raise UsageError(f"Unknown search mode {mode!r}. Known: {', '.join(MODES)}.")
    if limit < 1:
        raise UsageError(f"--limit must be a whole number from 1, not {limit}.")
    check_namespace(store, namespace)
    if mode == "auto":
        return _by_words_first(
            query,
            partial(
                search,
                store,
                limit=limit,
                namespace=namespace,
                include_duplicates=include_duplicates,
                encoder=encoder,
                cache=cache,
                least=None if least == ANY else least,
                progress=progress,
            ),
        )
    tally = Tally()
    depth = limit
    with ExitStack() as stack:
        tell = progress or (lambda _stage, _done, _all: None)
        vectors = _VectorOptions(encoder, cache, tell, least)
        rank = _ranker(store, query, Scope(namespace), mode, vectors, tally, stack)
        while True:
            ranked = rank(depth)
            known = values_in_force(store, (id_ for id_, _ in ranked))
            hits = _fold(ranked, known, limit, include=include_duplicates)
            if len(hits) == limit or len(ranked) < depth:
                return Answer(query, mode, tuple(hits), sum(len(h.hidden) for h in hits), tally)
            depth *= 4


_HOLDING_TOGETHER: Final = ("articles", "prepositions", "conjunctions", "function")
"""Sets of a lexicon with words that are in every memory and say nothing of what it is about."""


def _by_words_first(query: str, ask: Callable[..., Answer]) -> Answer:
    """Returns the answer by words; by vector where there is none, if vectors can be had.

    Words come first, as they need no vectors: for those a large store is encoded once, for minutes.

    Args:
        query: As for `search`.
        ask: `search` with all of its other arguments but the mode.
    """
    words = lexicon(language_of(query))
    telling = " ".join(
        word
        for word in re.findall(r"\w+", query)
        if not any(words.has(each, fold(word, words.language)) for each in _HOLDING_TOGETHER)
    )
    answer = replace(ask(telling or query, mode="text"), query=query)
    if answer.hits:
        return answer
    try:
        closest = ask(query, mode="vector")
    except NoQueryVector:
        return answer
    if closest.hits:
        closest.tally.note(NO_WORDS)
        return closest
    closest = ask(query, mode="vector", least=FAR, limit=FEW)
    if closest.hits:
        closest.tally.note(NOT_NEAR)
    return closest


@dataclass(frozen=True, slots=True)
class _VectorOptions:
    """How texts are encoded; the arguments of `search` with these names."""

    encoder: str
    cache: bool
    progress: Progress
    least: float | None


Ranked: TypeAlias = Sequence[tuple[str, float]]


def _ranker(
    store: Store,
    query: str,
    scope: Scope,
    mode: Mode,
    vectors: _VectorOptions,
    tally: Tally,
    stack: ExitStack,
) -> Callable[[int], Ranked]:
    """Returns a function from a number to so many ids with scores, best first."""
    if mode == "text":
        return _by_words(store, query, scope, stack)
    nearest = _by_vector(store, query, scope, vectors, tally)
    if mode == "vector":
        return lambda limit: nearest[:limit]
    by_words = _by_words(store, query, scope, stack)

    def rank(limit: int) -> Ranked:
        depth = max(_DEPTH, 4 * limit)  # the best of both may lead in neither
        return fused([by_words(depth), nearest[:depth]])[:limit]

    return rank


def _by_words(store: Store, query: str, scope: Scope, stack: ExitStack) -> Callable[[int], Ranked]:
    """Returns a ranker by words (BM25); a store without text search is indexed in memory."""
    if isinstance(store, TextSearch):
        return lambda limit: store.search_text(query, scope, limit)
    database, ids = full_text.index(store.scan(scope))
    stack.enter_context(closing(database))
    return lambda limit: [
        (ids[name], score)
        for name, score in full_text.search(database.connection, query, None, limit)
    ]


def fused(rankings: Sequence[Ranked]) -> Ranked:
    """Returns rankings joined by reciprocal rank fusion, best first, ties by id."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, (id_, _) in enumerate(ranking, 1):
            scores[id_] = scores.get(id_, 0.0) + 1 / (FUSION + rank)
    return sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))


def _by_vector(
    store: Store, query: str, scope: Scope, options: _VectorOptions, tally: Tally
) -> Ranked:
    """Returns memories with a vector of a model that encodes the query, closest first."""
    encoding = Tally()
    vectoriser = open_vectoriser(
        options.encoder,
        cache=options.cache,
        progress=lambda done, whole: options.progress("encoding", done, whole),
        prefer_stored=False,
    )
    question = Memory(id=_QUERY, content=query)
    memories = [m for m in store.scan(scope) if not is_blank(m.content)]
    scores = closeness(question, memories, vectoriser, encoding)
    if memories and not scores:
        raise NoQueryVector(
            "Searching by vector needs an encoder for the query: name one with --encoder, or use "
            "--mode text."
        )
    for reason, ids in encoding.skipped.items():
        tally.skip(reason, *(i for i in ids if i != _QUERY))
    least, encoder = options.least, vectoriser.encoder
    if least is None:  # below it texts have nothing in common for the encoder
        least = ANY if encoder is None else NOISE.get(encoder.model.partition("@")[0], ANY)
    if far := [id_ for id_, cosine in scores.items() if cosine < least]:
        tally.note(
            f"Left out: {len(far):,} of {len(scores):,} memories, whose similarity is below "
            f"{least:g}."
        )
        scores = {id_: cosine for id_, cosine in scores.items() if cosine >= least}
    return sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))


def _fold(ranked: Ranked, known: ValuesInForce, limit: int, *, include: bool) -> list[Hit]:
    """Returns hits with the value in force in place of older ones, and duplicates behind survivors.

    Args:
        ranked: Ids with scores, best first. A memory takes the place of the best hit it stands for.
        known: What the ledger knows of them.
        limit: At most so many hits.
        include: Whether hidden memories are hits of their own.
    """
    behind: dict[str, list[str]] = {}
    places: dict[str, float] = {}
    for id_, score in ranked:
        alone = include and id_ in known.marked
        shown = id_ if alone else known.newest(id_)
        if shown not in places and len(places) == limit:
            break
        places.setdefault(shown, score)
        if shown != id_ and id_ not in known.newer:
            behind.setdefault(shown, []).append(id_)
    return [
        Hit(
            known.memories[id_],
            score,
            tuple(behind.get(id_, ())),
            known.marked.get(id_),
            known.older(id_),
        )
        for id_, score in places.items()
        if id_ in known.memories
    ]


def similar(
    store: Store,
    text: str,
    *,
    limit: int = 10,
    namespace: str | None = None,
    encoder: str = "auto",
    cache: bool = True,
    least: float | None = None,
    progress: Progress | None = None,
) -> Answer:
    """Finds memories most like a text, by cosine, or by words (BM25) without an encoder.

    Args:
        store: As for `search`, with the other arguments.
        text: Any text.
        limit: At most so many hits.
        namespace: Only this one.
        encoder: For vectors.
        cache: Whether to use the vector cache.
        least: Smallest cosine of a hit, inclusive; by default that of `NOISE` for the encoder.
        progress: Told how far encoding is.

    Raises:
        UsageError: Empty text, unknown namespace, or limit below 1.
    """
    try:
        return search(
            store,
            text,
            mode="vector",
            limit=limit,
            namespace=namespace,
            encoder=encoder,
            cache=cache,
            least=least,
            progress=progress,
        )
    except NoQueryVector:
        answer = search(store, text, mode="text", limit=limit, namespace=namespace)
        answer.tally.note("No encoder is at hand, so only words were compared.")
        return answer

"""Secrets of memories made known to what masks them, before reasons quote single words of texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from echoless.codec import json_text
from echoless.core.masking import OUTPUT
from echoless.findings import Findings
from echoless.model import Json, Memory
from echoless.stores.base import Store


def learn(memories: Iterable[Memory | None]) -> None:
    """Know the secrets of memories. Reasons quote their words without the word "password".

    Args:
        memories: Those that reasons speak of; None where one is gone.
    """
    OUTPUT.learn(text for memory in memories if memory is not None for text in _texts(memory))


def learn_of(store: Store, ids: Iterable[str]) -> None:
    """As `learn`, for memories of a store by their ids.

    Args:
        store: Open.
        ids: Those that are not there are passed over.
    """
    if not OUTPUT.shown:
        learn(store.get(set(ids)).values())


def learn_held(findings: Findings) -> None:
    """As `learn`, for the memories of held pairs, which answers name with a reason and no text."""
    learn(findings.memories.get(id_) for each in findings.held for id_ in (each.a, each.b))


def learn_told(store: Store, told: Json) -> None:
    """As `learn`, for all memories that an answer names by their ids.

    Args:
        store: Open.
        told: The answer.
    """
    if not OUTPUT.shown:
        learn_of(store, _ids(told))


def learn_run(store: Store, run: str, told: Json) -> None:
    """As `learn_told`, for the events of a run; also as the ledger keeps records that are gone."""
    if not OUTPUT.shown:
        learn_told(store, told)
        learn(image.memory for image in store.ledger.images(run))


_NAMING: Final = frozenset({"id", "a", "b", "survivor", "ids", "added", "keep", "remove", "old"})
"""Keys under which answers and events name memories."""


def _ids(told: Json, *, named: bool = False) -> Iterator[str]:
    match told:
        case str() if named:
            yield told
        case Mapping():
            for key, each in told.items():
                yield from _ids(each, named=key in _NAMING)
        case list() | tuple():
            for each in told:
                yield from _ids(each, named=named)


def _texts(memory: Memory) -> Iterator[str]:
    yield memory.content
    for more in (memory.metadata, memory.extra):
        if more:
            yield json_text(dict(more))

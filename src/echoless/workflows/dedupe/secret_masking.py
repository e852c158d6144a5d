"""Looks up the memories that an answer names by their ids: their secrets to mask, and their texts.

Secrets are registered before reasons quote single words of texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from echoless.core.masking import OUTPUT, learn
from echoless.core.model import Json, JsonObject, Memory
from echoless.stores.base import Store
from echoless.workflows.dedupe.findings import Findings


def learn_ids(store: Store, ids: Iterable[str]) -> None:
    """Registers the secrets of memories of a store by their ids.

    Args:
        store: Open.
        ids: Ids of memories; unknown ids are ignored.
    """
    if not OUTPUT.shown:
        learn(store.get(set(ids)).values())


def learn_held(findings: Findings) -> None:
    """Registers the secrets of held pairs, which answers name with a reason and no text."""
    learn(findings.memories.get(id_) for each in findings.held for id_ in (each.a, each.b))


def learn_answer(store: Store, answer: object) -> None:
    """Registers the secrets of all memories that an answer names by their ids.

    Args:
        store: Open.
        answer: The answer to print.
    """
    if not OUTPUT.shown:
        learn_ids(store, ids_in(answer))


def learn_run(store: Store, run: str, answer: object) -> None:
    """Registers the secrets of memories that the events or the images of a run name."""
    if not OUTPUT.shown:
        learn_answer(store, answer)
        learn(image.memory for image in store.ledger.images(run))


NAMING: Final = frozenset({"id", "a", "b", "survivor", "ids", "added", "keep", "remove", "old"})
"""Keys under which answers and events name memories."""


def ids_in(
    answer: object, naming: frozenset[str] = NAMING, *, named: bool = False
) -> Iterator[str]:
    """Yields the ids in an answer.

    Args:
        answer: Any part of it.
        naming: Keys under which memories are named.
        named: Whether the key above it names memories.
    """
    match answer:
        case str() if named:
            yield answer
        case Mapping():
            for key, each in answer.items():
                yield from ids_in(each, naming, named=key in naming)
        case list() | tuple():
            for each in answer:
                yield from ids_in(each, naming, named=named)


def named_ids(answer: JsonObject) -> set[str]:
    """Returns every id that an answer of `audit` or `dedup` names, skipped memories included."""
    skipped = answer.get("skipped_ids")
    ids = set(ids_in(answer, NAMING | {"members", "newest"}))
    if isinstance(skipped, Mapping):
        ids.update(ids_in(list(skipped.values()), named=True))
    return ids - {""}


def answer_texts(
    answer: JsonObject, get: Callable[[set[str]], Mapping[str, Memory]]
) -> dict[str, Json]:
    """Returns the texts of an answer as in `--json --texts`, by id.

    Args:
        answer: The answer to print.
        get: Returns memories by id; those that are gone are left out.
    """
    memories = get(named_ids(answer))
    return {id_: memories[id_].content for id_ in sorted(memories)}

"""Texts of the memories that an answer in JSON names by their ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from echoless.core.model import Json, JsonObject, Memory
from echoless.workflows.dedupe.secret_masking import NAMING, ids_in

_NAMING: Final = NAMING | {"members", "newest"}


def named_ids(answer: JsonObject) -> set[str]:
    """Returns every id that an answer of `audit` or `dedup` names, skipped memories included."""
    skipped = answer.get("skipped_ids")
    ids = set(ids_in(answer, _NAMING))
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

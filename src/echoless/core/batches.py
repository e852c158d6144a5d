"""Batches: what one statement, request or product of matrices takes at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yields items in their order, in lists of `size`; the last one may be shorter."""
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch

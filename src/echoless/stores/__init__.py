"""Stores of memories: a small contract, and capabilities a store may declare besides."""

from echoless.stores.base import (
    HidesMarked,
    RecordsRemovals,
    Retains,
    Scope,
    Store,
    TextSearch,
    Transaction,
)
from echoless.stores.registry import absolute_url, open_store

__all__ = [
    "HidesMarked",
    "RecordsRemovals",
    "Retains",
    "Scope",
    "Store",
    "TextSearch",
    "Transaction",
    "absolute_url",
    "open_store",
]

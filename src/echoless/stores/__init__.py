"""Stores: where memories live. The contract is small; everything else is a declared capability."""

from echoless.stores.base import (
    HidesMarked,
    RecordsRemovals,
    Retains,
    Scope,
    Store,
    TextSearch,
    Transaction,
)
from echoless.stores.registry import open_store

__all__ = [
    "HidesMarked",
    "RecordsRemovals",
    "Retains",
    "Scope",
    "Store",
    "TextSearch",
    "Transaction",
    "open_store",
]

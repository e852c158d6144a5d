"""Stores of memories: one contract with defaults, and what a store declares besides."""

from echoless.stores.base import (
    Capabilities,
    OwnerView,
    Printed,
    Scope,
    Store,
    StoreKind,
    TextFiles,
    TextSearch,
)
from echoless.stores.registry import absolute_url, open_store

__all__ = [
    "Capabilities",
    "OwnerView",
    "Printed",
    "Scope",
    "Store",
    "StoreKind",
    "TextFiles",
    "TextSearch",
    "absolute_url",
    "open_store",
]

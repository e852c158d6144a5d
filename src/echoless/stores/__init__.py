"""Stores of memories: one contract with defaults, and what a store declares besides."""

from echoless.stores.base import Capabilities as Capabilities
from echoless.stores.base import OwnerView as OwnerView
from echoless.stores.base import Scope as Scope
from echoless.stores.base import Store as Store
from echoless.stores.base import StoreKind as StoreKind
from echoless.stores.base import TextFiles as TextFiles
from echoless.stores.base import TextSearch as TextSearch
from echoless.stores.registry import absolute_url as absolute_url
from echoless.stores.registry import open_store as open_store

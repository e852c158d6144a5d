"""Tables of LanceDB, an embedded database of columns and vectors (extra `lancedb`).

`lancedb:///path/to/folder#table`. A table in the layout of sliding-context is recognised; the
columns of any other are taken by their usual names, or as `?map=field:column` says.
"""

from echoless_stores.lancedb.store import LanceStore

__all__ = ["LanceStore"]

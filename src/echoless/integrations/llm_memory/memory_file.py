"""File of llm-memory as both tools read it: its path, living memories, usable vectors."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from echoless.blocking.candidates import expired
from echoless.core.model import Memory
from echoless.core.profiles import LLM_MEMORY
from echoless.core.timestamps import instant, now
from echoless.stores.llm_memory import LlmMemoryStore

PATH: Final = "LLM_MEMORY_DATABASE_PATH"
USUAL: Final = "data/llm_memory.db"


def file_of(db_path: str | Path | None) -> str:
    """Returns the given path, else `$LLM_MEMORY_DATABASE_PATH`, else `data/llm_memory.db`."""
    return str(db_path or os.environ.get(PATH) or USUAL)


def open_file(db_path: str | Path | None) -> LlmMemoryStore:
    """Opens the file of llm-memory for reading; see `file_of`.

    Raises:
        StoreNotFound: There is no such file.
        ForeignStore: It is no store of llm-memory.
    """
    return LlmMemoryStore.open(file_of(db_path))


def live(memories: Iterable[Memory]) -> list[Memory]:
    """Returns the memories that have not expired."""
    moment = instant(now())
    return [m for m in memories if not expired(LLM_MEMORY.expires(m), moment)]


def usable(memory: Memory) -> bool:
    """Returns whether a memory has a vector that can be compared: finite and not zero."""
    if not memory.vectors:
        return False
    data = memory.vectors[0].data
    values = struct.unpack(f"<{len(data) // 4}f", data)
    return any(values) and all(map(math.isfinite, values))

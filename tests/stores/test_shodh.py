"""The store of shodh-memory, with the real library."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

pytest.importorskip("shodh_memory")

from echoless.stores.shodh.library import Engine
from echoless.testing.stores import StoreConformance


def notes(folder: Path) -> dict[str, bytes]:
    """Every note as the library itself tells it, counters and times of access included."""
    engine = Engine(folder)
    try:
        return {str(n["id"]): json.dumps(n, sort_keys=True).encode() for n in engine.notes()}
    finally:
        engine.close()


def beside(folder: Path) -> set[str]:
    """Files around a store, not those of the engine in it."""
    return {path.name for path in folder.parent.iterdir()}


class TestShodh(StoreConformance):
    def url(self, folder: Path) -> str:
        return f"shodh:///{folder}/project"

    def bytes_of(self, folder: Path) -> Mapping[str, bytes]:
        """The engine turns over its journal whenever it is opened; the notes are what counts."""
        return {**notes(folder / "project"), **dict.fromkeys(beside(folder / "project"), b"")}

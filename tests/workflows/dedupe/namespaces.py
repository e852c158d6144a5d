"""A store of many namespaces, and an encoder that ends its process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from echoless.core import plugins
from echoless.core.model import Memory
from echoless.core.settings import Choices, Settings, resolve
from echoless.stores import open_store
from echoless.stores.base import Store

ROOT = str(Path(__file__).parents[3])

FACTS = (
    "Backups run every night.",
    "backups run every night",
    "The staging cluster runs in Frankfurt.",
    "The  staging cluster runs in Frankfurt.",
    "Ana leads the platform team.",
    "The release is on October 15th.",
    "The release is on October 16th.",
)
"""Of each namespace: two pairs say the same, one pair differs in a day."""

DEADLY = '''
import os, signal
from tests.conformance.encoders import WordBag

class Deadly(WordBag):
    """Ends its process at a text with `poison`; at one with `once` the first time only."""

    def __init__(self, folder):
        super().__init__("deadly@1")
        self.folder = folder

    def encode(self, texts):
        for text in texts:
            if "poison" in text or ("once" in text and self._is_first()):
                os.kill(os.getpid(), signal.SIGKILL)
        return super().encode(texts)

    def _is_first(self):
        try:
            open(os.path.join(self.folder, "killed"), "x").close()
        except FileExistsError:
            return False
        return True
'''


def filled(url: str, namespaces: int, more: Sequence[Memory] = ()) -> Store:
    """Returns a new store with the facts in each of so many namespaces, open."""
    store = open_store(url, create=True)
    memories = [
        Memory(id=f"{number:03}-{at}", content=fact, namespace=f"user {number}")
        for number in range(namespaces)
        for at, fact in enumerate(FACTS)
    ]
    with store.writing():
        store.put([*memories, *more])
    return store


def settings_of(store: Store, encoder: str = "none", **chosen: str) -> Settings:
    """Returns settings that use no cache of this machine."""
    choices = Choices(encoder=encoder, **chosen)
    return replace(resolve(choices, proposed=store.profile), cache=False)


@contextmanager
def deadly_encoder(folder: Path) -> Iterator[None]:
    """Installs the encoder `deadly:FOLDER` for this process and those it starts."""
    info = folder / "deadly-1.dist-info"
    info.mkdir(parents=True)
    (folder / "deadly.py").write_text(DEADLY, "utf-8")
    (info / "METADATA").write_text("Name: deadly\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[echoless.encoders]\ndeadly = deadly:Deadly\n")
    path = os.pathsep.join(filter(None, (str(folder), ROOT, os.environ.get("PYTHONPATH"))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)
        patch.setattr(sys, "path", [str(folder), *sys.path])
        plugins._group.cache_clear()
        yield
    plugins._group.cache_clear()

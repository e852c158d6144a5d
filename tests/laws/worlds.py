"""What the tests of the laws share: small stores of both kinds, and complete pictures of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hypothesis import HealthCheck, settings

from echoless import Memory, open_store
from echoless.core.settings import Choices, Settings, resolve
from echoless.stores import Store
from tests.conformance.stores import contents, fill, state

KINDS = ("sqlite", "jsonl")

SUFFIX = {"sqlite": "db", "jsonl": "jsonl"}

quick = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def safe(**choices: object) -> Settings:
    """The default profile without an encoder, which the laws do not need."""
    return resolve(Choices(semantic=False, **choices))  # type: ignore[arg-type]


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@contextmanager
def world(kind: str, memories: Sequence[Memory]) -> Iterator[Store]:
    """An open store of a kind with these memories in it, in a folder of its own."""
    with folder() as place:
        with open_world(kind, memories, place) as store:
            yield store


@contextmanager
def open_world(kind: str, memories: Sequence[Memory], place: Path) -> Iterator[Store]:
    url = f"{kind}:///{place}/memories.{SUFFIX[kind]}"
    fill(url, memories)
    with open_store(url) as store:
        yield store


def picture(store: Store) -> object:
    """Everything the store holds; for a text file also its very bytes."""
    path = Path(store.url.split("///", 1)[1])
    raw = path.read_bytes() if path.suffix == ".jsonl" else b""
    return state(store), raw


def everything(store: Store) -> dict[str, bytes]:
    """Every byte of every file of the store."""
    return contents(Path(store.url.split("///", 1)[1]).parent)

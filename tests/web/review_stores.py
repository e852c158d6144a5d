"""Stores for the tests of the review page."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from echoless import Memory, open_store
from echoless.core.eligibility import MAX_LENGTH
from echoless.web.store_queue import StoreQueue

T = TypeVar("T")

ROOMS: Final = (
    *("kitchen", "cellar", "attic", "garage", "balcony", "hallway", "bathroom", "studio"),
    *("office", "garden", "porch", "library", "pantry", "laundry", "workshop", "nursery"),
    *("terrace", "veranda", "chapel", "gym", "stable", "barn", "tower", "lounge", "bedroom"),
)
"""Each has a group: two memories with the same sentence about a lamp."""

MALICE: Final = (
    "<script>window.__pwned=1;alert(1)</script>",
    "<img src=x onerror=window.__pwned=2;alert(2)>",
    "\"'><svg onload=window.__pwned=3;alert(3)>",
    "</style></title></textarea><iframe srcdoc='<script>parent.__pwned=4</script>'></iframe>",
    "{{ 7*7 }}{% raw %}javascript:alert(5)",
    "\x1b[2J\x1b]0;owned\x07\u202egnp.exe\u2066",
)
"""Parts of texts, ids and names that attack a page, a template or a terminal."""


def memory(id_: str, content: str, *, day: int = 1, **more: Any) -> Memory:
    """Returns a memory of a day of March 2026."""
    values = {"namespace": "home", "created_at": f"2026-03-{day:02d}T08:00:00Z", **more}
    return Memory(id=id_, content=content, **values)


def household() -> Iterator[Memory]:
    """Yields 25 groups about lamps, 7 where one says more, one of three, and chains of ports.

    A test that takes the groups of some words (`words=lamp`) does not meet those of another.
    """
    for room in ROOMS:
        text = f"The lamp in the {room} belongs to Karla and hangs near the western window."
        yield memory(f"lamp-{room}-1", text)
        yield memory(f"lamp-{room}-2", text.lower().replace(".", "!"), day=2)
    for room in ROOMS[:7]:
        text = f"Heating of the {room} was repaired by Olga of Graz after 30"
        yield memory(f"heat-{room}-1", f"{text}.")
        yield memory(f"heat-{room}-2", f"{text} min.", day=3)
    for number, end in enumerate((".", "!", "")):
        text = f"Our boiler code is 4711 and Wanda keeps it in the drawer{end}"
        yield memory(f"boiler-{number}", text, day=number + 1)
    for number, service in enumerate(("Postgres", "Redis", "Grafana")):
        for step, port in enumerate((5432, 6000, 7100)):
            text = f"{service} listens on port {port + number}."
            yield memory(f"port-{service}-{step}", text, day=step + 1, namespace=f"work-{number}")
    for room in ROOMS[:3]:
        yield memory(f"water-{room}-1", f"Always water the {room} plants before Tom leaves town.")
        text = f"Before Tom leaves town, always water the {room} plants."
        yield memory(f"water-{room}-2", text, day=4)


def hostile() -> Iterator[Memory]:
    """Yields groups, chains and unsure pairs whose texts, ids, names and tags attack the page."""
    for number, part in enumerate(MALICE):
        more: dict[str, Any] = {"namespace": f"{number}{part}", "tags": (part,), "type": part}
        text = f"The lamp {part} in hall {number} belongs to Karla and hangs near the door."
        yield memory(f"a{number}{part}", text, **more)
        yield memory(f"b{number}{part}", f"{text} ", day=2, **more)
        for step in (1, 2):
            text = f"Service {part} of rack {number} listens on port {5000 + step}."
            yield memory(f"p{step}{number}{part}", text, day=step, **more)
        text = f"Always water the plants {part} of hall {number} before Tom leaves town."
        yield memory(f"w{number}{part}", text, **more)
        text = f"Before Tom leaves town, always water the plants {part} of hall {number}."
        yield memory(f"x{number}{part}", text, day=2, **more)
    long = ("The gazette of Zurich prints <b>every</b> letter it gets. " * 20_000)[:MAX_LENGTH]
    yield memory("long-1", long)
    yield memory("long-2", long, day=2)


def write_sqlite(path: Path, memories: Iterable[Memory]) -> str:
    """Makes an SQLite store, and returns its URL."""
    url = f"sqlite:///{path}"
    with open_store(url, create=True) as store, store.writing():
        store.put(list(memories))
    return url


def write_jsonl(path: Path, memories: Iterable[Memory]) -> str:
    """Makes a store of JSON lines, and returns its URL."""
    lines = (
        {"id": m.id, "content": m.content, "namespace": m.namespace, "created_at": m.created_at}
        for m in memories
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return f"jsonl:///{path}"


@contextmanager
def store_thread() -> Iterator[StoreQueue]:
    """Serves a queue in a thread of its own within the block."""
    calls = StoreQueue()
    thread = threading.Thread(target=calls.serve, name="store")
    thread.start()
    try:
        yield calls
    finally:
        calls.close()
        thread.join()


def ask(calls: StoreQueue, work: Callable[[], T]) -> T:
    """Runs some work in the thread of the store and blocks until it is done."""
    with ThreadPoolExecutor(1) as thread:  # this one may have a loop of its own, of a browser
        return thread.submit(asyncio.run, calls.call(work)).result()

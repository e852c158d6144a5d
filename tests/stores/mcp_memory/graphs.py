"""Files as the memory server and people leave them, made by code: names, texts and relations."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

Entity: TypeAlias = tuple[str, str, Sequence[object]]
Relation: TypeAlias = tuple[str, str, str]

PEOPLE: Final = ("Ingrid Berg", "Ahmed", "李雷", "Zoë O'Neil", "default_user")
SYSTEMS: Final = ("Auth Service", "payments-api", "Postgres 16", "docs.example.org", "C++ core")
FACTS: Final = (
    "Prefers dark mode in the editor",
    "Listens on port 8443",
    'Said "never on Fridays" about deployments',
    "Uses tabs, not spaces\nand keeps lines under 100 characters",
    "Works from Zürich on Mondays — schläft lange \U0001f634",
    "Path: C:\\work\\notes",
    "Was moved to the eu-central-1 region on 2026-03-02",
    "Is allergic to peanuts",
)
STYLES: Final = ("server", "spaced", "escaped", "crlf", "ended", "blank lines")


def written(
    entities: Iterable[Entity], relations: Iterable[Relation] = (), style: str = "server"
) -> bytes:
    """Returns the bytes of a file.

    Args:
        entities: Name, type and observations of each.
        relations: From, to and type of each.
        style: One of `STYLES`; `server` is the form the memory server writes.
    """
    rows: list[dict[str, object]] = [
        {"type": "entity", "name": name, "entityType": kind, "observations": list(observations)}
        for name, kind, observations in entities
    ]
    rows += [
        {"type": "relation", "from": start, "to": end, "relationType": kind}
        for start, end, kind in relations
    ]
    separators = (", ", ": ") if style in {"spaced", "escaped"} else (",", ":")
    lines = [
        json.dumps(row, ensure_ascii=style == "escaped", separators=separators) for row in rows
    ]
    if style == "spaced":
        lines = [line.replace("[", "[ ").replace("]", " ]") for line in lines]
    end = {"crlf": "\r\n", "blank lines": "\n\n"}.get(style, "\n")
    return (end.join(lines) + ("" if style == "server" else end)).encode()


def graph(seed: int) -> tuple[list[Entity], list[Relation]]:
    """Returns a graph of some people and systems; some facts are said twice, or nearly."""
    chance = random.Random(seed)
    entities: list[Entity] = []
    for kind, listed in (("person", PEOPLE), ("system", SYSTEMS)):
        for name in chance.sample(listed, chance.randint(1, len(listed))):
            own = chance.choices(FACTS, k=chance.randint(0, 6))
            own += [fact.lower() for fact in own if chance.random() < 0.3]
            entities.append((name, kind, own))
    names = [name for name, _, _ in entities]
    relations = [
        (chance.choice(names), chance.choice(names), chance.choice(("uses", "maintains")))
        for _ in range(chance.randint(0, 8))
    ]
    return entities, relations


def files() -> list[tuple[str, bytes]]:
    """Returns 36 files with what they are called in a test."""
    return [
        (f"{style}, graph {seed}", written(*graph(seed), style))
        for style in STYLES
        for seed in range(6)
    ]

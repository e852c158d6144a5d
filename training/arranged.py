"""Makes pairs whose meaning hangs on what stands where: labels and values, steps, clauses.

As in `generated.py` the label follows from the change: values that change places behind their
labels conflict, whole entries that change places do not.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Final

from training.examples import Target

Pair = tuple[str, str, Target, Target, Target]
"""Both texts, whether a entails b, b entails a, and whether they conflict."""

LABELS: Final = (
    ("owner", "reviewer", "author", "approver", "maintainer"),
    ("primary", "replica", "standby", "backup"),
    ("input", "output", "config", "log"),
    ("source", "target", "fallback"),
    ("done", "todo", "blocked", "in progress"),
    ("chosen", "rejected", "considered"),
    ("dev", "staging", "prod", "test"),
    ("host", "guest", "speaker", "notes"),
    ("read", "write", "delete", "share"),
    ("old name", "new name", "alias"),
    ("cpu", "memory", "disk", "network"),
    ("allergic to", "likes", "avoids"),
    ("mother", "father", "sister", "son"),
    ("buyer", "seller", "broker"),
    ("frontend", "backend", "database", "queue"),
    ("Besitzer", "Prüfer", "Vertretung"),
    ("Eingabe", "Ausgabe", "Ziel"),
    ("erledigt", "offen", "blockiert"),
    ("担当", "確認", "承認"),
    ("入力", "出力", "保存先"),
    ("负责人", "审核人", "备份"),
    ("origen", "destino", "respaldo"),
    ("auteur", "relecteur", "suppléant"),
)
VALUES: Final = (
    ("Anna", "Ben", "Cem", "Dora", "Emil", "Farah", "Goran", "Hye-jin", "Ines", "Jonas", "Kofi"),
    ("Postgres", "Redis", "Kafka", "NATS", "SQLite", "MySQL", "RabbitMQ", "Mongo", "DuckDB"),
    ("db1", "db2", "eu-west", "us-east", "node-3", "node-7", "10.0.0.4", "10.0.0.9"),
    ("JSON", "XML", "CSV", "YAML", "Parquet", "TOML"),
    ("login", "search", "checkout", "export", "billing", "sync", "upload", "onboarding"),
    ("8080", "8443", "5432", "3000", "443", "9000"),
    ("high", "low", "medium", "none"),
    ("admins", "everyone", "editors", "guests", "owners"),
    ("nuts", "milk", "gluten", "fish", "soy", "eggs"),
    ("Monday", "Tuesday", "Thursday", "Friday", "Saturday"),
)
STEPS: Final = (
    "open the valve", "close the door", "run the migration", "restart the workers",
    "take a backup", "stop the queue", "tag the release", "push the image", "clear the cache",
    "warm the index", "freeze the branch", "notify the team", "rotate the keys",
    "update the changelog", "fill in the form", "pay the invoice", "call the clinic",
    "water the plants", "export the data",
)  # fmt: skip
CLAUSES: Final = (
    "the cache is cold", "the API is slow", "the flag is set", "logging is on", "the tests fail",
    "the build is skipped", "the disk is full", "uploads are paused", "Ana is away",
    "Ben runs the standup", "it rains", "the run moves indoors", "the token expires",
    "the session ends", "the queue grows", "a worker is added", "the lease is renewed",
    "the node restarts", "the price rises", "the order is cancelled", "the reviewer agrees",
    "the branch is merged",
)  # fmt: skip

Entries = Sequence[tuple[str, str]]


def written(entries: Entries, draw: random.Random) -> str:
    """Returns labels and values in one of the forms that notes have."""
    form = draw.randrange(9)
    if form == 0:
        return ". ".join(f"{label.capitalize()}: {value}" for label, value in entries) + "."
    if form == 1:
        return ", ".join(f"{label}: {value}" for label, value in entries)
    if form == 2:
        return "; ".join(f"{label} = {value}" for label, value in entries)
    if form == 3:
        return ", ".join(f"{value} ({label})" for label, value in entries)
    if form == 4:
        return "\n".join(f"- {label}: {value}" for label, value in entries)
    if form == 5:
        return json.dumps(dict(entries), ensure_ascii=False)
    if form == 6:
        return "\n".join(f"{label}: {value}" for label, value in entries)
    if form == 7:
        return "; ".join(f"{label} - {value}" for label, value in entries)
    return " | ".join(f"**{label}** {value}" for label, value in entries)


def shuffled(entries: Entries, draw: random.Random) -> list[tuple[str, str]]:
    """Returns the entries in a drawn order."""
    return draw.sample(list(entries), len(entries))


def labelled(draw: random.Random) -> Pair:
    """Returns two lists of labels and values."""
    names, pool = draw.choice(LABELS), draw.choice(VALUES)
    size = min(draw.randint(2, 4), len(names), len(pool))
    values = draw.sample(pool, size)
    entries = list(zip(draw.sample(names, size), values, strict=True))
    form, kind = random.Random(draw.random()), draw.random()
    one_form = form.getstate()
    first = written(entries, form)
    if draw.random() < 0.6:
        form.setstate(one_form)  # both in one form: the wording gives nothing away
    if kind < 0.4:
        return first, written(shuffled(entries, draw), form), 1, 1, 0
    if kind < 0.8:
        turned = list(zip([n for n, _ in entries], [*values[1:], values[0]], strict=True))
        if size > 2 and draw.random() < 0.6:
            turned = [(entries[0][0], values[1]), (entries[1][0], values[0]), *entries[2:]]
        other = shuffled(turned, draw) if draw.random() < 0.3 else turned
        return first, written(other, form), 0, 0, 1
    if size < 3:
        rest = [value for value in pool if value not in values]
        return first, written([entries[0], (entries[1][0], draw.choice(rest))], form), 0, 0, 1
    return first, written(shuffled(entries[1:], draw), form), 1, 0, 0


def ordered(draw: random.Random) -> Pair:
    """Returns two sequences of steps: told otherwise in one order, or in another order."""
    steps = draw.sample(STEPS, draw.randint(2, 4))

    def shown(items: Sequence[str]) -> str:
        form = draw.randrange(4)
        if form == 0:
            return "\n".join(f"{n}. {item}" for n, item in enumerate(items, 1))
        if form == 1:
            return "First " + ", then ".join(items) + "."
        if form == 2:
            return " -> ".join(items)
        return ", then ".join(items).capitalize()

    if draw.random() < 0.4:
        return shown(steps), shown(steps), 1, 1, 0
    other = [steps[1], steps[0], *steps[2:]] if draw.random() < 0.7 else steps[::-1]
    return shown(steps), shown(other), 0, 0, 1


JOINING: Final = (
    ("{a} because {b}", "because {b}, {a}"),
    ("{a} because {b}", "{b}, so {a}"),
    ("{a} when {b}", "when {b}, {a}"),
    ("{a} if {b}", "if {b}, {a}"),
    ("{a} unless {b}", "unless {b}, {a}"),
    ("{a} after {b}", "{b} before {a}"),
    ("{a} after {b}", "after {b}, {a}"),
    ("{a} until {b}", "until {b}, {a}"),
)


def clauses(draw: random.Random) -> Pair:
    """Returns two sentences of two clauses: turned round, or with cause and effect exchanged."""
    a, b = draw.sample(CLAUSES, 2)
    one, other = draw.choice(JOINING)
    if draw.random() < 0.5:
        one, other = other, one
    same = draw.random() < 0.5
    left = one.format(a=a, b=b)
    right = (other if same or draw.random() < 0.5 else one).format(
        a=a if same else b, b=b if same else a
    )
    capital = (left[:1].upper() + left[1:] + ".", right[:1].upper() + right[1:] + ".")
    return (*capital, 1, 1, 0) if same else (*capital, 0, 0, 1)


def arranged(draw: random.Random) -> Pair:
    """Returns a pair of one of the three kinds."""
    return draw.choices((labelled, ordered, clauses), (0.6, 0.2, 0.2))[0](draw)

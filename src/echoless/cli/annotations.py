"""Annotations of a GitHub job: a warning for each redundant copy, at the line where it stands.

Format: https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands, with the
escapes of https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts. GitHub shows
ten warnings a step; the report in the summary of the job has them all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from echoless.core.document import flat, quoted
from echoless.core.model import Memory
from echoless.core.rendering import readable
from echoless.core.secret_masking import learn
from echoless.stores.base import Store
from echoless.workflows.audit.report import Report

_TITLE: Final = "Repeated memory"

_PREVIEW: Final = 160
"""Characters of a memory that a warning shows."""

_DATA: Final = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY: Final = {**_DATA, ":": "%3A", ",": "%2C"}


def annotation_lines(store: Store, typed: str, report: Report) -> Iterator[str]:
    """Yields one warning for each redundant copy, in the order of the report.

    Args:
        store: Open, the one that was audited.
        typed: The store as it was named, for one that is a file but knows no lines.
        report: The report on it.
    """
    ids = {id_ for g in report.groups for id_ in (g.survivor, *(m.id for m in g.members))}
    memories = store.get(ids)
    learn(memories.values())
    for group in report.groups:
        for member in group.members:
            path, line = _place(store, member.id, typed)
            evidence = f" ({quoted(member.evidence)})" if member.evidence else ""
            message = f"Repeats {_survivor(store, group.survivor, path, memories)}{evidence}"
            properties = {"file": path, "line": line, "title": _TITLE}
            yield _command({name: value for name, value in properties.items() if value}, message)


def _survivor(store: Store, id_: str, path: str, memories: Mapping[str, Memory]) -> str:
    """Returns file and line of the survivor, then its text."""
    other, line = _place(store, id_, "")
    where = f"line {line}" if line and other == path else f"{other}:{line}" if line else id_
    memory = memories.get(id_)
    return f"{where}: {flat(memory.content, _PREVIEW)}" if memory else where


def _place(store: Store, id_: str, typed: str) -> tuple[str, str]:
    """Returns file and line of a memory as texts, the file as seen from the root of the checkout.

    Args:
        store: Open.
        id_: The memory.
        typed: The store as it was named; the file where the store knows no lines.
    """
    place = store.place(id_)
    if place is not None:
        return _in_checkout(place[0]), str(place[1])
    return (_in_checkout(Path(typed)) if typed and Path(typed).exists() else ""), ""


def _in_checkout(path: Path) -> str:
    """Returns a path as GitHub wants it: relative to the folder of the checkout."""
    checkout = os.environ.get("GITHUB_WORKSPACE")
    if checkout:
        full, root = path.absolute(), Path(checkout).absolute()
        if full.is_relative_to(root):
            return full.relative_to(root).as_posix()
    return path.as_posix()


def _command(properties: Mapping[str, str], message: str) -> str:
    """Returns a workflow command `::warning NAME=VALUE,…::MESSAGE`."""
    listed = ",".join(f"{name}={_escaped(value, _PROPERTY)}" for name, value in properties.items())
    return f"::warning {listed}::{_escaped(readable(message), _DATA)}"


def _escaped(text: str, signs: Mapping[str, str]) -> str:
    return "".join(signs.get(sign, sign) for sign in text)


def summary_file() -> Path | None:
    """Returns the file a GitHub job shows as its summary; None outside of a job."""
    name = os.environ.get("GITHUB_STEP_SUMMARY")
    return Path(name) if name else None

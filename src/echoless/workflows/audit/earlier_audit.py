"""Reads an answer that `audit --json` wrote earlier."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from echoless.core import json_codec as codec
from echoless.core.errors import BadRecord, InputError, StoreError
from echoless.core.model import Json, JsonObject
from echoless.stores.files import read_bytes
from echoless.workflows.audit.namespace_report import Share
from echoless.workflows.audit.report import FORMAT

COUNTS: Final = ("total", "groups", "redundant", "updates", "contradictions", "siblings", "unsure")
"""Totals that an answer must have."""

_Part = TypeVar("_Part")


@dataclass(frozen=True, slots=True)
class EarlierGroup:
    """A group by its ids.

    Attributes:
        survivor: The memory that would stay visible.
        members: The others, sorted.
    """

    survivor: str
    members: tuple[str, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """Returns the ids of all its memories."""
        return (self.survivor, *self.members)


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierAudit:
    """Result of an earlier audit of a store.

    Attributes:
        store: URL of the store.
        profile: Name of the profile.
        settings: As in `audit --json`.
        release: Of the echoless that made it.
        ratio: Redundant copies over visible memories, rounded as in the answer.
        tokens: Estimated tokens of all visible memories.
        wasted_tokens: Estimated tokens of redundant copies.
        counts: Totals by name, those of `COUNTS`.
        by_namespace: Share of each namespace.
        groups: In their order.
        held: Pairs that stayed apart: a, b and the verdict.
    """

    store: str
    profile: str
    settings: JsonObject
    release: str
    ratio: float
    tokens: int
    wasted_tokens: int
    counts: Mapping[str, int]
    by_namespace: Mapping[str, Share]
    groups: tuple[EarlierGroup, ...]
    held: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """The audits of one file.

    Attributes:
        path: The file.
        audits: By URL of the store; stores that could not be read then are not among them.
        single: Whether it is the answer about one store.
    """

    path: Path
    audits: Mapping[str, EarlierAudit]
    single: bool

    def of(self, url: str, *, alone: bool) -> EarlierAudit | None:
        """Returns the audit to compare a store with; None where the file has none of it.

        Args:
            url: Of the store.
            alone: Whether it is the only store of the command. Then the answer about one store is
                meant, even if it is of another one.

        Raises:
            InputError: It is the only store, and a file of several does not name it.
        """
        audit = self.audits.get(url)
        if audit is None and alone and self.single and self.audits:
            return next(iter(self.audits.values()))
        if audit is None and alone:
            raise InputError(
                f"{self.path} has no audit of {url}. It has: {', '.join(self.audits) or 'none'}."
            )
        return audit


def read_earlier_answer(path: Path) -> EarlierAnswer:
    """Reads an answer of `audit --json`: about one store, several, or all.

    Raises:
        InputError: The file is missing, no such answer, or of a newer format.
    """
    try:
        raw = read_bytes(path)
    except StoreError as problem:
        raise InputError(f"{path} cannot be read ({problem}).") from problem
    if not raw.strip():
        raise InputError(
            f"{path} is empty. If this command writes its answer there, give the new one another "
            "name: a shell empties that file first."
        )
    try:
        data = json.loads(raw)  # told by its first bytes, a shell may have written UTF-16
        stores = data.get("stores") if isinstance(data, dict) else None
        answers = [data] if stores is None else _list(stores, "stores")
        audits = [_audit(_readable(each, path)) for each in answers if not _failed(each)]
    except (BadRecord, ValueError, RecursionError) as problem:
        raise InputError(
            f"{path} is not an answer of `echoless audit --json` ({problem})."
        ) from problem
    return EarlierAnswer(path, {each.store: each for each in audits}, stores is None)


def _readable(answer: Json, path: Path) -> JsonObject:
    """Returns the answer about one store, if its format is known.

    Raises:
        BadRecord: It is no object.
        InputError: It is of a newer format.
    """
    data = codec.insist_object(answer, "the answer")
    written = data.get("format", FORMAT)
    if isinstance(written, int) and written > FORMAT:
        raise InputError(
            f"{path} has format {written}, and this echoless reads up to {FORMAT}. Use the "
            "echoless that wrote it, or a newer one."
        )
    return data


def _failed(answer: Json) -> bool:
    """Checks whether an answer says that its store could not be read, or was not."""
    return isinstance(answer, Mapping) and "error" in answer and "counts" not in answer


def _audit(data: JsonObject) -> EarlierAudit:
    """Returns the audit of one store.

    Raises:
        BadRecord: A part is missing or has the wrong form; the message names it.
    """
    counts = codec.insist_object(data.get("counts"), "counts")
    return EarlierAudit(
        store=codec.read_text(data, "store"),
        profile=codec.read_text(data, "profile"),
        settings=codec.insist_object(data.get("settings", {}), "settings"),
        release=codec.read_text(data, "echoless", ""),
        ratio=_number(data, "ratio"),
        tokens=int(_number(data, "tokens")),
        wasted_tokens=int(_number(data, "wasted_tokens")),
        counts={name: int(_number(counts, name)) for name in COUNTS},
        by_namespace={
            name: _share(codec.insist_object(each, "a namespace"))
            for name, each in codec.insist_object(data.get("by_namespace"), "by_namespace").items()
        },
        groups=_parts(data, "groups", _group),
        held=_parts(data, "held", _pair),
    )


def _group(data: JsonObject) -> EarlierGroup:
    """Returns a group of an answer."""
    members = _parts(data, "members", lambda member: codec.read_text(member, "id"))
    return EarlierGroup(codec.read_text(data, "survivor"), tuple(sorted(members)))


def _share(data: JsonObject) -> Share:
    """Returns the share of a namespace."""
    return Share(int(_number(data, "total")), int(_number(data, "redundant")))


def _parts(data: JsonObject, name: str, read: Callable[[JsonObject], _Part]) -> tuple[_Part, ...]:
    """Returns the objects of a list, each as it is read."""
    return tuple(
        read(codec.insist_object(each, f"a part of {name}")) for each in _list(data.get(name), name)
    )


def _pair(data: JsonObject) -> tuple[str, str, str]:
    """Returns a held pair of an answer."""
    a, b, verdict = (codec.read_text(data, name) for name in ("a", "b", "verdict"))
    return a, b, verdict


def _list(data: Json, name: str) -> Sequence[Json]:
    """Returns a value that must be a list."""
    if not isinstance(data, list):
        raise BadRecord(f"{name} is no list")
    return data


def _number(data: JsonObject, name: str) -> float:
    """Returns a field that must be a number from 0 on."""
    value = codec.read_number(data.get(name), name)
    if value is None or value < 0:
        raise BadRecord(f"{name!r} must be a number from 0 on")
    return value

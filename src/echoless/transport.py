"""Carry memories between stores without loss: import, export, a verified backup."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from echoless import codec
from echoless.errors import BadRecord, DuplicateId, StoreError, UsageError
from echoless.model import Memory, fingerprint
from echoless.stores.base import Store, together, together_with_ledger
from echoless.stores.files import Snapshot, replace_bytes
from echoless.stores.registry import locate, open_store
from echoless.text import is_blank, unreadable
from echoless.times import now

FORMATS: Final = ("jsonl", "markdown", "sqlite")


@dataclass(frozen=True, slots=True)
class Transferred:
    """What was carried over.

    Attributes:
        memories: Number of memories written.
        lineage: Number of ledger rows written.
        skipped: Reason by id, for memories left out on request.
        target: URL or path of the result.
    """

    memories: int
    lineage: int
    skipped: Mapping[str, str]
    target: str


def transfer(source: Store, target: Store, *, skip_invalid: bool = False) -> Transferred:
    """Copy all memories and the lineage from one store into another, all or nothing.

    Ids that the target has already must be equal there (they are then left as they are). Lineage
    is carried into a target that has none.

    Args:
        source: Read only.
        target: Written; may hold other memories.
        skip_invalid: Leave out memories that cannot be stored, counted, instead of refusing all.

    Raises:
        BadRecord: A memory is empty, or its text or vectors cannot be stored; names the id.
        DuplicateId: The target holds another memory under the same id.
    """
    memories, skipped = _valid(source.scan(), skip_invalid=skip_invalid)
    with target.writing():
        there = target.get(m.id for m in memories)
        for memory in memories:
            if memory.id in there and fingerprint(there[memory.id]) != fingerprint(memory):
                raise DuplicateId(
                    f"{target.url} holds another memory with the id {memory.id!r}. Import into a "
                    "new store, or change one of the ids; nothing was imported."
                )
        new = [replace(m, native={}) for m in memories if m.id not in there]
        lineage = _write(source, target, new)
    return Transferred(len(new), lineage, skipped, target.url)


def import_into(source: Store, url: str | Path, *, skip_invalid: bool = False) -> Transferred:
    """As `transfer`, into a store that is made if it does not exist.

    A refused import leaves no new store behind.

    Args:
        source: Read only.
        url: Where to; see `open_store`.
        skip_invalid: As in `transfer`.
    """
    scheme, location = locate(url, create=True)
    if source.url == f"{scheme}:///{location}":
        raise UsageError(f"{source.url} cannot be imported into itself. Name another store.")
    made = not Path(location).exists()
    try:
        with open_store(url, create=True) as target:
            return transfer(source, target, skip_invalid=skip_invalid)
    except BaseException:
        if made:
            _remove(Path(location))
        raise


def _write(source: Store, target: Store, new: Sequence[Memory]) -> int:
    carry = target.ledger.is_empty()
    lineage = 0
    with together_with_ledger(target):
        with together(target):
            target.put(new)
        if carry and not source.ledger.is_empty():
            with target.ledger.transaction():
                lineage = target.ledger.load(source.ledger.dump())
    written = target.get(m.id for m in new)
    for memory in new:
        if memory.id not in written or fingerprint(written[memory.id]) != fingerprint(memory):
            raise StoreError(f"{target.url} did not keep {memory.id!r} as written.")
    return lineage


def _valid(
    memories: Iterable[Memory], *, skip_invalid: bool
) -> tuple[list[Memory], dict[str, str]]:
    kept: list[Memory] = []
    skipped: dict[str, str] = {}
    for memory in memories:
        problem = invalid(memory)
        if problem is None:
            kept.append(memory)
        elif skip_invalid:
            skipped[memory.id] = problem
        else:
            raise BadRecord(
                f"Memory {memory.id!r} {problem}. Mend or remove it, or leave such memories out "
                "with --skip-invalid; nothing was imported."
            )
    return kept, skipped


def invalid(memory: Memory) -> str | None:
    """What keeps a memory from being imported, as a predicate (`has no text`), or None."""
    if is_blank(memory.content):
        return "has no text"
    problem = unreadable(memory.content) or unreadable(memory.id)
    if problem:
        return f"has {problem}"
    for vector in memory.vectors:
        numbers = codec.bytes_to_floats(vector.data)
        if not numbers or not all(map(math.isfinite, numbers)):
            return f"has a vector of {vector.model!r} that is empty or not finite"
    return None


# ------------------------------------------------------------------ export


def export(store: Store, path: Path, *, format: str | None = None) -> Transferred:  # noqa: A002
    """Write a store to a new file: memories and lineage.

    JSONL and SQLite can be imported again without loss; Markdown is for people, with the complete
    record of each memory in a comment under it.

    Args:
        store: Read only.
        path: The file; it must not exist.
        format: `jsonl`, `markdown` or `sqlite`; by the suffix if None.

    Raises:
        UsageError: The file exists, or the format is unknown.
    """
    chosen = format or _format_of(path)
    if path.exists():
        raise UsageError(f"{path} exists. Export to a new file, or remove that one first.")
    match chosen:
        case "jsonl" | "sqlite":
            return _export_store(store, path, chosen)
        case "markdown":
            text = markdown(store)
            # a lone surrogate has no UTF-8 form; JSON writes it in the same way
            raw = text.encode("utf-8", "backslashreplace")
            replace_bytes(path, raw, Snapshot.of(path))
            return Transferred(store.count(), len(list(store.ledger.dump())), {}, str(path))
        case _:
            raise UsageError(f"Unknown format {chosen!r}. Known: {', '.join(FORMATS)}.")


def _format_of(path: Path) -> str:
    suffixes = {
        ".jsonl": "jsonl",
        ".ndjson": "jsonl",
        ".md": "markdown",
        ".markdown": "markdown",
        ".db": "sqlite",
        ".sqlite": "sqlite",
        ".sqlite3": "sqlite",
    }
    try:
        return suffixes[path.suffix.lower()]
    except KeyError:
        raise UsageError(
            f"What format should {path} have? Give --format {'|'.join(FORMATS)}, or a suffix: "
            f"{', '.join(suffixes)}."
        ) from None


def _export_store(store: Store, path: Path, scheme: str) -> Transferred:
    """Fill a new store beside the target, then move it there: no half-written export."""
    draft = path.with_name(f".{path.name}.export")
    _remove(draft)
    try:
        with open_store(f"{scheme}:///{draft}", create=True) as target, target.writing():
            lineage = _write(store, target, [replace(m, native={}) for m in store.scan()])
        _move(draft, path)
    finally:
        _remove(draft)
    return Transferred(store.count(), lineage, {}, str(path))


def _move(draft: Path, path: Path) -> None:
    for suffix in ("", ".echoless"):
        part = draft.with_name(draft.name + suffix)
        if part.exists():
            os.replace(part, path.with_name(path.name + suffix))  # noqa: PTH105


def _remove(draft: Path) -> None:
    for part in [
        draft,
        *(draft.with_name(draft.name + s) for s in (".echoless", "-wal", "-shm")),
        draft.with_name(f".{draft.name}.lock"),
    ]:
        part.unlink(missing_ok=True)


def markdown(store: Store) -> str:
    """All memories as one Markdown page, by namespace; hidden ones say what they stand behind."""
    marks = store.ledger.marks()
    by_namespace: dict[str, list[Memory]] = {}
    for memory in store.scan():
        by_namespace.setdefault(memory.namespace, []).append(memory)
    lines = ["# Memories", "", f"Exported {now()} from {store.url}.", ""]
    for namespace in sorted(by_namespace):
        lines += [f"## {namespace or '(no namespace)'}", ""]
        for memory in by_namespace[namespace]:
            mark = marks.get(memory.id)
            lines += _markdown_entry(memory, mark.survivor if mark else None)
    events = [f"- {e.at} {e.kind} {e.run} {codec.json_text(e.data)}" for e in store.ledger.events()]
    if events:
        lines += ["## Lineage", "", *events, ""]
    return "\n".join(lines)


def _markdown_entry(memory: Memory, survivor: str | None) -> list[str]:
    facts = [memory.type, memory.provenance.value, memory.created_at or "", *memory.tags]
    record = json.dumps(codec.memory_to_json(memory)).replace("--", "-\\u002d")
    return [
        f"### {memory.id}" + (f" (duplicate of {survivor})" if survivor else ""),
        "",
        *(f"> {line}" for line in memory.content.split("\n")),
        "",
        " · ".join(fact for fact in facts if fact),
        "",
        f"<!-- {record} -->",
        "",
    ]


# ------------------------------------------------------------------ backup


def backup(store: Store, path: Path) -> Transferred:
    """A complete copy as an SQLite store, compared record by record before it gets its name.

    Args:
        store: Read only.
        path: A new file; an existing one is never overwritten.

    Raises:
        UsageError: The file exists.
        StoreError: The copy does not hold what the store holds; nothing is left behind.
    """
    if path.exists():
        raise UsageError(f"{path} exists, and a backup never overwrites. Choose another name.")
    draft = path.with_name(f".{path.name}.backup")
    try:
        made = _export_store(store, draft, "sqlite")
        with open_store(f"sqlite:///{draft}") as copy:
            _compare(store, copy)
        shutil.move(draft, path)
    finally:
        _remove(draft)
    return replace(made, target=str(path))


def _compare(store: Store, copy: Store) -> None:
    originals = {m.id: m for m in store.scan()}
    copies = {m.id: m for m in copy.scan()}
    wrong = sorted(i for i in originals.keys() | copies.keys() if originals.get(i) != copies.get(i))
    if wrong or list(store.ledger.dump()) != list(copy.ledger.dump()):
        raise StoreError(
            f"The backup does not hold what {store.url} holds "
            f"({', '.join(wrong[:5]) or 'lineage differs'}). It was removed; try again when no "
            "other program writes to the store."
        )

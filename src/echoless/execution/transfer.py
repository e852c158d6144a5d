"""Carries memories between stores without loss: import, export, a verified backup."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, sleep
from typing import Final, TypeAlias

from echoless.core import drafts, plugins
from echoless.core import json_codec as codec
from echoless.core.document import names
from echoless.core.errors import BadRecord, DuplicateId, StoreError, UsageError
from echoless.core.model import JsonObject, Memory, fingerprint, unstorable
from echoless.core.sqlite import BUSY_TIMEOUT_SECONDS
from echoless.core.text import is_blank
from echoless.execution.journal import shares_transaction
from echoless.stores.base import Store, together_with_ledger
from echoless.stores.field_map import read_path
from echoless.stores.files import speaking_of
from echoless.stores.registry import SUFFIXES, is_one_file, locate, open_store

FORMATS: Final = ("jsonl", "sqlite")

Held: TypeAlias = Callable[[Store], Callable[[str], str | None]]
"""Returns, for a store, what says why a text may not come into it, as what follows its id."""

_PAUSE: Final = 0.02
"""Seconds before a store that was written to meanwhile is copied again."""


@dataclass(frozen=True, slots=True)
class Transferred:
    """Result of an import, export or backup.

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


def transfer(
    source: Store, target: Store, *, skip_invalid: bool = False, held: Held | None = None
) -> Transferred:
    """Copies all memories and the lineage from one store into another, all or nothing.

    Ids that the target has already must be equal there (they are then left as they are). Lineage
    is carried into a target that has none.

    Args:
        source: Read only.
        target: Written; may hold other memories.
        skip_invalid: Leave out memories that cannot be stored, counted, instead of refusing all.
        held: Says what is left out and counted; nothing by default.

    Raises:
        BadRecord: A memory is empty, or its text or vectors cannot be stored; names the id.
        DuplicateId: The target holds another memory under the same id.
    """
    memories, skipped = _valid(source.scan(), skip_invalid=skip_invalid)
    if held is not None:
        why_not = held(target)
        back = {m.id: why for m in memories if (why := why_not(m.content))}
        skipped, memories = {**skipped, **back}, [m for m in memories if m.id not in back]
    # the target is read in the transaction that writes: another process may bring the ids
    with target.writing(), together_with_ledger(target):
        current = target.get(m.id for m in memories)
        for memory in memories:
            if memory.id in current and fingerprint(current[memory.id]) != fingerprint(memory):
                raise DuplicateId(
                    f"{target.url} holds another memory with the id {memory.id!r}. Import into a "
                    "new store, or change one of the ids; nothing was imported."
                )
        new = [replace(m, native={}) for m in memories if m.id not in current]
        lineage = _write(source, target, new)
    return Transferred(len(new), lineage, skipped, target.url)


def import_into(
    source: Store, url: str | Path, *, skip_invalid: bool = False, held: Held | None = None
) -> Transferred:
    """Copies all memories and the lineage into a store that is made if it does not exist.

    A new store is drafted beside its place, compared with the source and then given its name: a
    refused import leaves nothing, and removes nothing of anybody else.

    Args:
        source: Read only.
        url: Where to; see `open_store`.
        skip_invalid: As in `transfer`.
        held: As in `transfer`; a store that is new holds nothing back.

    Raises:
        UsageError: The source is the target, or a ledger without its store lies at the target.
        StoreError: The new store does not hold what the source holds.
    """
    scheme, location = locate(url, create=True)
    if is_one_file(scheme):
        location = str(read_path(location).path)  # how it hides is no part of a new file
    if source.url.partition("?hide=")[0] == f"{scheme}:///{location}":
        raise UsageError(f"{source.url} cannot be imported into itself. Name another store.")
    path = Path(location)
    if not is_one_file(scheme) or path.exists() or not path.name.isprintable():
        _valid(source.scan(), skip_invalid=skip_invalid)  # refuse before anything is made
        with open_store(f"{scheme}:///{location}", create=True) as target:
            return transfer(source, target, skip_invalid=skip_invalid, held=held)
    with _draft(path) as made:
        with open_store(f"{scheme}:///{made}", create=True) as target:
            done = transfer(source, target, skip_invalid=skip_invalid)
        _compare_draft(source, scheme, made, without=done.skipped)
        _publish(made, path, like=_file_of(source))
    return replace(done, target=f"{scheme}:///{path}")


def _write(source: Store, target: Store, new: Sequence[Memory]) -> int:
    carry = target.ledger.is_empty()
    lineage = 0
    with together_with_ledger(target):
        with target.transaction():
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
    valid: list[Memory] = []
    skipped: dict[str, str] = {}
    for memory in memories:
        problem = invalid(memory)
        if problem is None:
            valid.append(memory)
        elif skip_invalid:
            skipped[memory.id] = problem
        else:
            raise BadRecord(
                f"Memory {memory.id!r} {problem}. Mend or remove it, or leave such memories out "
                "with --skip-invalid; nothing was imported."
            )
    return valid, skipped


def invalid(memory: Memory) -> str | None:
    """Returns what keeps a memory from being imported (`has no text`), or None."""
    if is_blank(memory.content):
        return "has no text"
    if problem := unstorable(memory):
        return f"has {problem}"
    for vector in memory.vectors:
        numbers = codec.bytes_to_floats(vector.data)
        if not numbers or not all(map(math.isfinite, numbers)):
            return f"has a vector of {vector.model!r} that is empty or not finite"
    return None


# ------------------------------------------------------------------ export


def export(store: Store, path: Path, *, kind: str | None = None) -> Transferred:
    """Writes a store to a new file: memories and lineage.

    Both formats can be imported again without loss.

    Args:
        store: Read only.
        path: The file; it must not exist.
        kind: `jsonl` or `sqlite`; by the suffix if None.

    Raises:
        UsageError: The file exists, or the kind is unknown.
    """
    chosen = kind or SUFFIXES.get(path.suffix.lower())
    if chosen not in FORMATS:
        suffixes = [suffix for suffix, each in SUFFIXES.items() if each in FORMATS]
        raise UsageError(
            f"What format should {path} have? Give --format {'|'.join(FORMATS)}, or a suffix: "
            f"{', '.join(suffixes)}."
        )
    if path.exists():
        raise UsageError(f"{path} exists. Export to a new file, or remove that one first.")
    return _undisturbed(store, lambda source: _export_store(source, path, chosen))


class _WrittenMeanwhile(StoreError):
    """Error of a store that changed while it was copied."""


def _undisturbed(store: Store, copy: Callable[[Store], Transferred]) -> Transferred:
    """Copies a store, again if another program wrote meanwhile, within the time of a lock."""
    end = monotonic() + BUSY_TIMEOUT_SECONDS
    try:
        return copy(store)
    except _WrittenMeanwhile as problem:
        disturbed = problem
    while monotonic() < end:
        sleep(_PAUSE)
        with _as_it_is_now(store) as source:
            try:
                return copy(source)
            except _WrittenMeanwhile as problem:
                disturbed = problem
    raise disturbed


def _export_store(store: Store, path: Path, scheme: str) -> Transferred:
    """Fills a draft, compares it, gives it its name: no half-written export, none over another."""
    with _draft(path) as made:
        one = store.ledger.database.reading() if shares_transaction(store) else nullcontext()
        with one:  # one state of records and lineage, where one file holds both
            with open_store(f"{scheme}:///{made}", create=True) as target, target.writing():
                lineage = _write(store, target, [replace(m, native={}) for m in store.scan()])
            count = _compare_draft(store, scheme, made)
        _publish(made, path, like=_file_of(store))
    return Transferred(count, lineage, {}, str(path))


@contextmanager
def _as_it_is_now(store: Store) -> Iterator[Store]:
    """Yields the store opened anew, which reads the files again, unless no one can change it."""
    known = store.url.partition("://")[0] in plugins.names("stores")
    if store.capabilities.exclusive or shares_transaction(store) or not known:
        yield store
        return
    with open_store(store.url) as again:
        yield again


@contextmanager
def _draft(path: Path) -> Iterator[Path]:
    with speaking_of(path), drafts.draft(path) as made:
        yield made


def _publish(made: Path, path: Path, *, like: Path | None) -> None:
    """Gives a draft its name.

    Raises:
        StoreError: SQLite could not bring all of it into one file, as on a full disk.
    """
    for part in (made, made.with_name(made.name + drafts.SIDECAR)):
        log = part.with_name(part.name + "-wal")
        if log.exists() and log.stat().st_size:
            raise StoreError(
                f"{path} could not be written whole: its last part stayed in a log. Nothing was "
                "written there; check the disk and try again."
            )
    drafts.publish(made, path, like=like)


def _file_of(store: Store) -> Path | None:
    """Returns the file whose permissions and owner a copy of a store gets."""
    path = Path(store.url.partition(":///")[2].partition("#")[0].partition("?")[0])
    return path if path.exists() else None


def _compare_draft(store: Store, scheme: str, made: Path, *, without: Iterable[str] = ()) -> int:
    """Reads a draft back, and compares it record by record.

    Returns:
        Number of memories in it.

    Raises:
        StoreError: It does not hold what the store holds.
    """
    with open_store(f"{scheme}:///{made}") as copy:
        memories, lineage = list(copy.scan()), list(copy.ledger.dump())
    _compare(store, memories, lineage, without=without)
    return len(memories)


def _compare(
    store: Store,
    memories: Sequence[Memory],
    lineage: Sequence[tuple[str, JsonObject]],
    *,
    without: Iterable[str] = (),
) -> None:
    """Compares a copy with the present state of its store.

    Where records and lineage lie in two files, they were read one after the other: only what both
    still are belongs together.

    Raises:
        StoreError: The copy does not hold what the store holds, or another process is in the
            middle of a run.
    """
    left_out = set(without)
    with _as_it_is_now(store) as source:
        originals = {m.id: m for m in source.scan() if m.id not in left_out}
        copies = {m.id: m for m in memories}
        differing = originals.keys() | copies.keys()
        wrong = sorted(i for i in differing if originals.get(i) != copies.get(i))
        if wrong or list(source.ledger.dump()) != list(lineage):
            raise _WrittenMeanwhile(
                f"The copy does not hold what {store.url} holds "
                f"({names(wrong) or 'lineage differs'}). It was removed; try again when no "
                "other program writes to the store."
            )
        if source.ledger.open_runs() and not shares_transaction(store):
            _refuse_a_run_under_way(source, lineage)


def _refuse_a_run_under_way(store: Store, lineage: Sequence[tuple[str, JsonObject]]) -> None:
    """Refuses a run that a writer is carrying out; one that was interrupted may be copied."""
    file = _file_of(store)
    lock = None if file is None else file.with_name(f".{file.name}.lock")
    held = lock is not None and lock.exists() and drafts.is_held(lock)
    if held or list(store.ledger.dump()) != list(lineage):
        raise _WrittenMeanwhile(
            f"{store.url} is being written to by another process. Wait for it to end and try "
            "again; nothing was written."
        )


# ------------------------------------------------------------------ backup


def backup(store: Store, path: Path) -> Transferred:
    """Writes a complete copy as an SQLite store, compared record by record before it gets its name.

    Args:
        store: Read only.
        path: A new file; an existing one is never overwritten.

    Raises:
        UsageError: The file exists.
        StoreError: The copy does not hold what the store holds; nothing is left behind.
    """
    if path.exists():
        raise UsageError(f"{path} exists, and a backup never overwrites. Choose another name.")
    return _undisturbed(store, lambda source: _export_store(source, path, "sqlite"))

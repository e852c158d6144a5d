"""The lock that lets only one review of a store be open at a time.

Two reviews would lose no answer: each answer has a number in the ledger, and one that was given to
a card that changed meanwhile is refused. But neither would show the other's answers, so a second
one is refused and told where the first one is. The lock lies in this user's cache folder, so other
users, and processes with another `ECHOLESS_CACHE_DIR`, are not seen.

The operating system holds the lock for the process (`flock`, on Windows `LockFile`) and frees it
when the process ends, however it ends: no lock is left behind by one that was killed.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from echoless.core.errors import StoreLocked
from echoless.core.own_folders import LOG, cache_folder, insist_on_own_file, make_own
from echoless.core.timestamps import now
from echoless.stores.base import Store

_FOLDER: Final = "reviews"
_LONGEST: Final = 4_096
"""Bytes of the file that says where a review is; a longer one is none of ours."""


@dataclass(frozen=True, slots=True)
class ReviewLock:
    """The lock of the one review of a store.

    Attributes:
        notice: File that says where the review is; None where no folder can hold one.
    """

    notice: Path | None

    def announce(self, place: str, advice: str = "") -> None:
        """Writes the address of this review, so that a second one can report it.

        Args:
            place: Goes on from "is being reviewed": `at http://127.0.0.1:8400/`. No secret.
            advice: A sentence that says how to get there.
        """
        if self.notice is None:
            return
        who = f"process {os.getpid()} since {now()}, on {platform.node()}"
        draft = self.notice.with_suffix(".new")
        with suppress(OSError):  # the lock holds all the same
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(f"{place} ({who}). {advice}".rstrip())
            draft.replace(self.notice)


@contextmanager
def review_lock(store: Store) -> Iterator[ReviewLock]:
    """Holds the lock of the one review of a store within the block.

    Where the cache folder cannot be used the block runs without a lock, and the log says so.

    Args:
        store: Open. A copy of a store, with the same identity, counts as the store.

    Raises:
        StoreLocked: Another review of it is open; the message says where.
    """
    name = hashlib.sha256((store.identity or store.url).encode()).hexdigest()[:32]
    folder = cache_folder() / _FOLDER
    notice, lock = folder / f"{name}.txt", FileLock(folder / f"{name}.lock")
    try:
        make_own(folder)
        lock.acquire(blocking=False)
    except Timeout as problem:
        raise StoreLocked(_refusal(notice)) from problem
    except OSError as problem:
        LOG.warning("Another review of this store would not be noticed: %s.", problem)
        yield ReviewLock(None)
        return
    try:
        with suppress(OSError):
            notice.unlink()  # of a process that was killed
        yield ReviewLock(notice)
    finally:
        with suppress(OSError):
            notice.unlink()
        lock.release()


def _refusal(notice: Path) -> str:
    """Returns the sentences that say where the open review is."""
    place = ""
    with suppress(OSError, ValueError):
        if insist_on_own_file(notice) and notice.stat().st_size <= _LONGEST:
            place = notice.read_text("utf-8")
    place = place or "by another process, which is just starting."
    return (
        f"This store is being reviewed {place} Go on there, or end that review first; its answers "
        "are stored."
    )

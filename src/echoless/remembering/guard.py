"""The door: one text at a time, decided and written in one step.

Under the writer's lock the index is brought up to the store as it is, the detectors name what the
text may repeat, the judge rules, and the answer is carried out, so of two writers with one fact the
second is told what the first has done. Vectors are made before the lock is taken.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, Unpack

from echoless.deciding import open_judge
from echoless.errors import UsageError
from echoless.model import JsonObject, Memory
from echoless.remembering import keeping, writing
from echoless.remembering.answers import (
    Admitted,
    AlreadyKnown,
    NeedsReview,
    Remembered,
    Updates,
    answer_from_json,
    answer_to_keep,
)
from echoless.remembering.asking import vectors_of
from echoless.remembering.comparing import Comparing
from echoless.remembering.index import MemoryIndex, Progress
from echoless.remembering.recognising import Handed, read_boot_files
from echoless.remembering.ruling import Compared, Ruling, rule
from echoless.remembering.stored import as_stored, vectors_for
from echoless.remembering.wish import Details, Wish
from echoless.settings import Choices, Settings, resolve
from echoless.stores.base import Store, writing_within
from echoless.tally import Tally
from echoless.text import content_key
from echoless.vectors.vectorise import NO_VECTOR

if TYPE_CHECKING:
    from echoless.remembering.pointed import VectorIndex
    from echoless.vectors.base import Matrix

WAIT: Final = 30.0
"""Seconds a writer waits for other writers."""

_RECALLED: Final = (
    "The text is said to come out of memory, and no memory says it: nothing was stored."
)


class Guard:
    """Remembers texts in a store that did not know them. For one process, any number of threads.

    Example:
        ```
        with open_store("sqlite:///agent.db") as store, Guard(store) as guard:
            match guard.remember("The staging server has 16 GB of memory."):
                case Admitted(id=id_): ...
                case AlreadyKnown(survivor=id_): ...
        ```
    """

    def __init__(
        self,
        store: Store,
        settings: Settings | None = None,
        *,
        boot: Sequence[str | Path] = (),
        recalled: Iterable[Memory | str] = (),
        wait: float = WAIT,
        progress: Progress | None = None,
    ) -> None:
        """Open the door. Nothing is read before the first text.

        Args:
            store: Any open store; it is not closed with the guard.
            settings: Profile and encoder; those the store proposes by default. `semantic` of a
                profile that is to compare stored vectors needs the vectors of each new text.
            boot: Files the agent reads at its start; what they say is known.
            recalled: Texts that were just handed to the agent, see `note_recalled`.
            wait: Seconds to wait for other writers, at least 0.
            progress: Told how far the first reading of the store is: memories read, and in all
                (0 where that is not known).

        Raises:
            UsageError: A setting is unknown.
            InputError: A boot file cannot be read.
        """
        self._store = store
        self.settings = settings or resolve(Choices(), proposed=store.profile)
        self._wait, self._progress = wait, progress
        self._lock = threading.RLock()
        self._opening = Tally()
        profile = self.settings.profile
        self._vectoriser, self._encoder = vectors_for(self.settings, self._opening)
        self._judge = open_judge(profile, self._vectoriser, self._opening)
        self._index: MemoryIndex | None = None
        self._lines = {line.id: line for line in read_boot_files(boot)}
        self._comparing = Comparing(store, profile, self._judge, self._lines)
        self._boot: MemoryIndex | None = None
        self._handed = Handed()
        self._handed.note(recalled)

    # ------------------------------------------------------------------ remember

    def remember(self, text: str, **details: Unpack[Details]) -> Remembered:
        """Remember a text, unless the store says it already.

        Args:
            text: The text; not blank, at most a million characters.
            **details: See `Details`.

        Returns:
            `Admitted`, `AlreadyKnown`, `Updates` or `NeedsReview`; the last and the second changed
            no record.

        Raises:
            UsageError: A detail is wrong, or a key was used before for another text.
            InputError: The text cannot be stored, or the id is taken.
            EncoderError: No vector could be made; nothing was written.
            StoreLocked: Other writers did not come to an end in time.
        """
        wish = Wish(text=text, **details)
        with self._lock:
            before = self._answered(wish)
            if before is not None:
                return before  # a retry, which needs neither index nor vector
            tally = Tally()
            # the first reading of a store must not hold its lock
            index = self._index or self._current(tally)
            memory = as_stored(self._store, wish.memory(), self._encoder, self._model_of(index))
            matrices = vectors_of(memory, self._vectoriser, tally)
            if wish.dry_run:
                return self._decide(wish, memory, matrices, tally)
            answer = self._within(lambda: self._decide(wish, memory, matrices, tally))
            self._follow(answer)
            return answer

    def note_recalled(self, given: Iterable[Memory | str]) -> None:
        """Note what was just handed to the agent: to say it again is neither news nor confirmation.

        Kept in this process, the latest `recognising.KEPT` texts.
        """
        with self._lock:
            self._handed.note(given)

    def close(self) -> None:
        """Keep the index for the next process, where that is worth it. May be called twice."""
        with self._lock:
            if self._index is not None:
                keeping.keep(self._index, self._store, self.settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    @property
    def _encodes(self) -> bool:
        return self._vectoriser is not None and self._vectoriser.encoder is not None

    def _model_of(self, index: MemoryIndex) -> VectorIndex | None:
        """Vectors a new record needs one beside: those of most memories, where these decide."""
        if self.settings.profile.encoder != "stored":
            return None
        return max(index.vectors.values(), key=lambda each: (len(each), each.model), default=None)

    # ------------------------------------------------------------------ within the lock

    def _within(self, decide: Callable[[], Remembered]) -> Remembered:
        """Decide and write as the one writer."""
        with writing_within(self._store, self._wait):
            return decide()

    def _current(self, tally: Tally) -> MemoryIndex:
        """The index, as the store is now."""
        if self._index is None:
            self._index = keeping.open_index(self._store, self.settings, self._vectoriser)
        with _quietly(self._index):
            self._index.refresh(self._store, tally, self._progress)
        return self._index

    def _follow(self, answer: Remembered) -> None:
        """Take in what was just written; a store's clock may be too slow to tell it changed."""
        written = answer.id if isinstance(answer, Admitted) else None
        if isinstance(answer, Updates):
            written = answer.new
        if written is not None and self._index is not None:
            with _quietly(self._index):
                self._index.fill(self._store.get([written]).values(), Tally())

    def _decide(
        self, wish: Wish, memory: Memory, matrices: Sequence[Matrix], tally: Tally
    ) -> Remembered:
        before = self._answered(wish)
        if before is not None:
            return before
        ruling, source = self._rule(wish, memory, matrices, tally)
        answer = self._carry_out(wish, memory, ruling, source, tally)
        by_words = self.settings.encoder in {"none", "auto"} and not self._encodes
        notes = _notes(self._opening, tally, answer.notes, by_words=by_words)
        answer = replace(answer, notes=notes)
        if wish.key and not wish.dry_run:
            with self._store.ledger.transaction():
                kept = answer_to_keep(answer)
                told: JsonObject = {"text": content_key(wish.text), "answer": kept}
                self._store.ledger.keep_answer(wish.key, told)
        return answer

    def _answered(self, wish: Wish) -> Remembered | None:
        told = self._store.ledger.answer(wish.key) if wish.key else None
        if told is None:
            return None
        if told["text"] != content_key(wish.text):
            raise UsageError(
                f"The key {wish.key!r} was used before for another text. Give each text a key of "
                "its own."
            )
        kept = told["answer"]
        assert isinstance(kept, dict)
        ids = [str(match["id"]) for match in kept["matches"]]
        return answer_from_json(kept, self._comparing.texts(ids))

    def _rule(
        self, wish: Wish, memory: Memory, matrices: Sequence[Matrix], tally: Tally
    ) -> tuple[Ruling, str]:
        """The ruling, and where what it is about was found."""
        review = wish.unsure == "review" or wish.origin == "recalled"
        index = self._current(tally)
        ruling = rule(self._comparing.compared(index, memory, matrices, tally), review=review)
        if ruling.kind != "known" and self._lines:
            plain = Memory(id=memory.id, content=memory.content, created_at=memory.created_at)
            told = rule(
                self._comparing.compared(self._boot_index(tally), plain, matrices, tally),
                review=False,
            )
            if told.kind == "known":
                return told, "boot file"
        handed = self._handed.holds(wish.text) or wish.origin == "recalled"
        return ruling, "recalled" if handed else "store"

    def _boot_index(self, tally: Tally) -> MemoryIndex:
        if self._boot is None:
            self._boot = MemoryIndex(self.settings.profile, self._vectoriser)
            self._boot.fill(self._lines.values(), tally)
        return self._boot

    # ------------------------------------------------------------------ carry out

    def _carry_out(
        self, wish: Wish, memory: Memory, ruling: Ruling, source: str, tally: Tally
    ) -> Remembered:
        if wish.force:
            stopped = (ruling.first,) if ruling.first else ()
            return writing.admit(
                self._store, wish, memory, (*stopped, *ruling.others), self.settings
            )
        recalled = wish.origin == "recalled"
        if ruling.kind == "known" or (recalled and ruling.kind == "review"):
            assert ruling.first is not None
            return self._known(wish, ruling.first, source)
        if recalled:
            near = (*ruling.about, *ruling.others)
            return NeedsReview(candidates=tuple(c.match for c in near), why=_RECALLED)
        if ruling.kind == "review":
            matches = tuple(each.match for each in ruling.others)
            why = f"It may repeat {matches[0].id}: {matches[0].evidence}."
            return NeedsReview(candidates=matches, why=why)
        if ruling.kind == "updates":
            assert ruling.first is not None
            return writing.update(self._store, wish, memory, ruling.first, self.settings, tally)
        return writing.admit(self._store, wish, memory, ruling.others, self.settings)

    def _known(self, wish: Wish, found: Compared, source: str) -> AlreadyKnown:
        if source == "boot file":
            return AlreadyKnown(
                survivor=None,
                verdict=found.match.verdict,
                confirmations=0,
                match=found.match,
                source="boot file",
            )
        times = writing.confirm(self._store, wish, found, counted=source == "store")
        return AlreadyKnown(
            survivor=found.shown,
            verdict=found.match.verdict,
            confirmations=times,
            match=found.match,
            source="recalled" if source == "recalled" else "store",
        )


@contextmanager
def _quietly(index: MemoryIndex) -> Iterator[None]:
    """An index that could not follow is brought up from the start the next time."""
    try:
        yield
    except BaseException:
        index.token = ""
        raise


def _notes(opening: Tally, tally: Tally, more: Sequence[str], *, by_words: bool) -> tuple[str, ...]:
    """What was skipped, capped or fallen back on.

    Args:
        opening: Of the guard.
        tally: Of this text, and of the memories that were taken in before it.
        more: Of the answer.
        by_words: Whether no vectors are wanted, so that none are missed.
    """
    left = (
        f"{reason}: {len(ids):,}"
        for reason, ids in tally.skipped.items()
        if not (by_words and reason == NO_VECTOR)
    )
    return tuple(dict.fromkeys((*opening.notes, *tally.notes, *left, *more)))


def remember(
    store: Store,
    text: str,
    *,
    settings: Settings | None = None,
    boot: Sequence[str | Path] = (),
    recalled: Iterable[Memory | str] = (),
    wait: float = WAIT,
    **details: Unpack[Details],
) -> Remembered:
    """Remember one text, unless the store says it already. For several, a `Guard` is quicker.

    Args:
        store: Any open store.
        text: The text.
        settings: As for `Guard`.
        boot: As for `Guard`.
        recalled: As for `Guard`.
        wait: As for `Guard`.
        **details: See `Details`.

    Returns:
        As `Guard.remember`, which also tells what is raised.
    """
    with Guard(store, settings, boot=boot, recalled=recalled, wait=wait) as guard:
        return guard.remember(text, **details)

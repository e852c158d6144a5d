"""Guard of a store: decides on one new text at a time, and writes it in the same step.

Under the writer's lock the index is brought up to the store as it is, the detectors name what the
text may repeat, the judge rules, and the answer is carried out, so of two writers with one fact the
second gets the answer to what the first has done. Vectors are made before the lock is taken.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final, Self, TypeVar, Unpack

from echoless.core.errors import DuplicateId, InputError, StoreError, UsageError
from echoless.core.masking import OUTPUT
from echoless.core.model import Memory
from echoless.core.run_notes import Tally
from echoless.core.settings import Choices, Settings, resolve
from echoless.core.text import content_key
from echoless.ingest import index_cache as keeping
from echoless.ingest import writer as writing
from echoless.ingest.forgotten import held
from echoless.ingest.index import MemoryIndex, Progress
from echoless.ingest.matcher import Comparing, vectors_of
from echoless.ingest.outcomes import (
    Admitted,
    AlreadyKnown,
    NeedsReview,
    Remembered,
    Source,
    Updates,
    answer_from_json,
    answer_to_keep,
)
from echoless.ingest.policy import Compared, Decided, rule, says_it_all
from echoless.ingest.recalled_text import RecalledTexts, read_boot_files
from echoless.ingest.request import Details, Request
from echoless.ingest.writer import vectors_for, with_vector
from echoless.matching.runner import open_judge
from echoless.models.encoders.base import NO_VECTOR, Matrix
from echoless.stores.base import Store, writing_within
from echoless.stores.expiration import promised
from echoless.stores.reading import values_in_force
from echoless.stores.scope import of_owners, owned

WAIT: Final = 30.0
"""Seconds a writer waits for other writers."""

AT_ONCE: Final = 64
"""Texts of a group of `remember_many`."""

_T = TypeVar("_T")

_RECALLED: Final = (
    "The text is said to come out of memory, and no memory says it: nothing was stored."
)

_OUT_OF_DATE: Final = (
    "{} is out of date: {} says the newer value. If the older one holds again, remember the text "
    "with force."
)


@dataclass(frozen=True, slots=True)
class _Ready:
    """Text with all that is made before the store is locked: its record and vectors."""

    request: Request
    memory: Memory
    matrices: Sequence[Matrix]
    tally: Tally


class Guard:
    """Remembers texts in a store that does not say them yet. For one process, many threads.

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
        """Prepares the guard. Nothing is read before the first text.

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
        self._vectoriser, self._encoder = vectors_for(self.settings)
        self._judge = open_judge(profile, self._vectoriser, self._opening)
        self._index: MemoryIndex | None = None
        self._lines = {line.id: line for line in read_boot_files(boot)}
        self._comparing = Comparing(store, profile, self._judge, self._lines)
        self._boot: MemoryIndex | None = None
        self._handed = RecalledTexts()
        self._handed.note(recalled)

    # ------------------------------------------------------------------ remember

    def remember(self, text: str, **details: Unpack[Details]) -> Remembered:
        """Remembers a text, unless the store says it already.

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
        request = Request(text=text, **details)
        with self._lock:
            return self._remember(request)

    def remember_many(
        self, texts: Iterable[tuple[str, Details]], *, at_once: int = AT_ONCE
    ) -> Iterator[Remembered | InputError | UsageError]:
        """Remembers texts with the answers of one by one, and commits once for several.

        The answers of a group come when all of it is committed. A store that cannot take back a
        part of a transaction (`Savepoints`) commits each text by itself.

        Args:
            texts: Each with its details, see `Details`.
            at_once: Texts of a group, at least 1. Other writers wait as long as it takes.

        Yields:
            The answer to each text in order, or the error that is of this text alone; the others
            go on.

        Raises:
            EncoderError: No vector could be made.
            EcholessError: The store is locked or full, or does not keep what is written. Nothing of
                the group was written then; what was yielded before is done.
        """
        waiting = iter(texts)
        grouped = at_once > 1 and self._store.capabilities.savepoints
        while some := list(islice(waiting, at_once if grouped else 1)):
            if grouped:
                yield from self._together(some)
            else:
                yield _or_error(lambda each: self.remember(each[0], **each[1]), some[0])

    def elsewhere(self, text: str, *, namespace: str = "") -> tuple[Memory, ...]:
        """Returns the memories of other namespaces that say a text; reads only.

        It is for the owner of the store: it shows what other scopes say, and `remember` never does.

        Args:
            text: As for `remember`.
            namespace: The one that is left out.

        Raises:
            UsageError: The text is blank or too long.
            InputError: The text cannot be stored.
            EncoderError: No vector could be made.
        """
        return self._saying(text, namespace, own=False)

    def saying(self, text: str) -> tuple[Memory, ...]:
        """Returns the memories that say a text, in any namespace; reads only.

        Raises:
            EcholessError: As `elsewhere`.
        """
        return self._saying(text, "", own=True)

    def _saying(self, text: str, namespace: str, *, own: bool) -> tuple[Memory, ...]:
        """Returns the memories that say a text, of its own namespace too if asked."""
        request, tally = Request(text=text, namespace=namespace), Tally()
        with self._lock:
            memory, index = request.memory(), self._current(tally)
            if not own and not index.allowed(memory, elsewhere=True).any():
                return ()  # the text needs no vector, which may cost money
            matrices = vectors_of(memory, self._vectoriser, tally)
            compared = [
                each
                for others in (True, False)
                if others or own
                for each in self._comparing.closest(
                    index, memory, matrices, tally, elsewhere=others
                )
            ]
        others = {each.memory.id: each.memory for each in compared if says_it_all(each)}
        return tuple(m for m in others.values() if own or m.namespace != namespace)

    def note_recalled(self, given: Iterable[Memory | str]) -> None:
        """Notes what was just handed to the agent: it is neither news nor confirmation.

        Kept in this process, the latest `recalled_text.KEPT` texts.
        """
        with self._lock:
            self._handed.note(given)

    def close(self) -> None:
        """Saves the index for the next process if it is large enough. May be called twice."""
        with self._lock:
            if self._index is not None:
                keeping.keep(self._index, self._store, self.settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    # ------------------------------------------------------------------ within the lock

    def _remember(self, request: Request) -> Remembered:
        ready = self._ready(request)
        if not isinstance(ready, _Ready):
            return ready  # a retry, which needs neither index nor vector
        if request.dry_run:
            return self._decide(ready)
        try:
            answer = self._within(lambda: self._decide(ready))
        except DuplicateId:
            if request.id or ready.memory.id == request.memory().id:
                raise
            return self._remember(request)  # another writer took the name of this note meanwhile
        self._follow(answer, ready)
        return answer

    def _ready(self, request: Request) -> _Ready | Remembered:
        """Returns all that is needed before the store is locked; or what was answered before."""
        OUTPUT.learn((request.text,))  # reasons quote words of it
        before = self._answered(request)
        if before is not None:
            return before
        tally = Tally()
        # the first reading of a store must not hold its lock
        index = self._index or self._current(tally)
        others = None
        if self.settings.profile.encoder == "stored":  # of the model most memories have
            vectors = index.vectors.values()
            others = max(vectors, key=lambda each: (len(each), each.model), default=None)
        memory = request.memory()
        try:
            memory = self._store.shaped(memory)
        except StoreError:
            if request.created_at is not None:
                raise
            # the time of writing is ours, and not every store has a place for it
            memory = self._store.shaped(replace(memory, created_at=None))
        memory = of_owners(owned(promised(memory)))
        memory = with_vector(self._store, memory, self._encoder, others)
        return _Ready(request, memory, vectors_of(memory, self._vectoriser, tally), tally)

    def _together(
        self, some: Sequence[tuple[str, Details]]
    ) -> list[Remembered | InputError | UsageError]:
        """Remembers texts in one transaction; each text meets the texts stored before it."""
        with self._lock:
            try:
                ready = [
                    _or_error(lambda each: self._ready(Request(text=each[0], **each[1])), given)
                    for given in some
                ]
                return self._within(lambda: [self._within_group(each) for each in ready])
            except BaseException:
                if self._index is not None:
                    self._index.token = ""  # it took in what was taken back
                raise

    def _within_group(
        self, ready: _Ready | Remembered | InputError | UsageError
    ) -> Remembered | InputError | UsageError:
        """Decides on one text of a group; an error of its own takes back nothing but its own."""
        if not isinstance(ready, _Ready):
            return ready
        try:
            with self._store.savepoint():
                answer = self._decide(ready)
        except (InputError, UsageError) as problem:
            return problem
        self._follow(answer, ready)
        return answer

    def _within(self, decide: Callable[[], _T]) -> _T:
        """Decides and writes as the only writer."""
        with writing_within(self._store, self._wait):
            return decide()

    def _current(self, tally: Tally) -> MemoryIndex:
        """Returns the index, brought up to the store as it is now."""
        if self._index is None:
            self._index = keeping.open_index(self._store, self.settings, self._vectoriser)
        with _invalidated(self._index):
            self._index.refresh(self._store, tally, self._progress)
        return self._index

    def _follow(self, answer: Remembered, ready: _Ready) -> None:
        """Takes in what was just written; a store's clock may be too slow to show the change.

        It was read back as it was written, so it is not read again, and its vectors are not made
        again.
        """
        if isinstance(answer, Admitted | Updates) and answer.run and self._index is not None:
            with _invalidated(self._index):
                self._index.take_written(ready.memory, ready.matrices, Tally())

    def _decide(self, ready: _Ready) -> Remembered:
        request = ready.request
        before = self._answered(request)
        if before is not None:
            return before
        ruling, source = self._rule(ready)
        # what only counts is written with its answer: a retry after a crash counts nothing
        only_counts = ruling.kind == "known" and not (request.force or request.dry_run)
        with self._store.ledger.transaction() if only_counts else nullcontext():
            return self._answer(ready, ruling, source)

    def _answer(self, ready: _Ready, ruling: Decided, source: Source) -> Remembered:
        """Carries out a ruling, and keeps the answer under the key of the request."""
        request, tally = ready.request, ready.tally
        answer = self._carry_out(request, ready.memory, ruling, source, tally)
        encodes = self._vectoriser is not None and self._vectoriser.encoder is not None
        by_words = self.settings.encoder in {"none", "auto"} and not encodes
        notes = _notes(self._opening, tally, answer.notes, by_words=by_words)
        answer = replace(answer, notes=notes)
        if request.key and not request.dry_run:
            with self._store.ledger.transaction():
                self._store.ledger.keep_answer(
                    request.key,
                    {"text": content_key(request.text), "answer": answer_to_keep(answer)},
                )
        return answer

    def _answered(self, request: Request) -> Remembered | None:
        """Returns what was answered before under the key of a request, or None."""
        entry = self._store.ledger.answer(request.key) if request.key else None
        if entry is None:
            return None
        if entry["text"] != content_key(request.text):
            raise UsageError(
                f"The key {request.key!r} was used before for another text. Give each text a key "
                "of its own."
            )
        answer = entry["answer"]
        assert isinstance(answer, dict)
        ids = [str(match["id"]) for match in answer["matches"]]
        return answer_from_json(answer, self._comparing.texts(ids))

    def _rule(self, ready: _Ready) -> tuple[Decided, Source]:
        """Returns the ruling, and where the memory it is about was known."""
        request, memory, matrices, tally = ready.request, ready.memory, ready.matrices, ready.tally
        review = request.unsure == "review" or request.origin == "recalled"
        index = self._current(tally)
        ruling = rule(self._comparing.compared(index, memory, matrices, tally), review=review)
        if ruling.kind != "known" and self._lines:
            if self._boot is None:
                self._boot = MemoryIndex(self.settings.profile, self._vectoriser)
                self._boot.fill(self._lines.values(), tally)
            plain = Memory(id=memory.id, content=memory.content, created_at=memory.created_at)
            compared = self._comparing.compared(self._boot, plain, matrices, tally)
            by_lines = rule(compared, review=False)
            if by_lines.kind == "known":
                return by_lines, "boot file"
        handed = self._handed.holds(request.text) or request.origin == "recalled"
        return ruling, "recalled" if handed else "store"

    # ------------------------------------------------------------------ carry out

    def _carry_out(
        self, request: Request, memory: Memory, ruling: Decided, source: Source, tally: Tally
    ) -> Remembered:
        about, kind, recalled = ruling.about, ruling.kind, request.origin == "recalled"
        again = None if request.force else held(self._store)(request.text)
        if again is not None:
            return NeedsReview(candidates=(), why=f"It {again}.")
        if request.force and not (request.supersede and kind == "updates"):
            return writing.admit(self._store, request, memory, about, self.settings)
        if kind == "known" or (recalled and kind == "review"):
            return self._known(request, about[0], source)
        if recalled or kind == "review":
            matches = tuple(each.match for each in about)
            why = (
                _RECALLED if recalled else f"It may repeat {matches[0].id}: {matches[0].evidence}."
            )
            return NeedsReview(candidates=matches, why=why)
        if kind == "updates":
            return writing.update(self._store, request, memory, about, self.settings, tally)
        return writing.admit(self._store, request, memory, about, self.settings)

    def _known(self, request: Request, known: Compared, source: Source) -> AlreadyKnown:
        match = known.match
        in_file = source == "boot file"
        # a record of this key is what an earlier call wrote whose answer was lost: no second saying
        retry = bool(request.key and not request.id) and match.id == request.memory().id
        counted = source == "store" and not retry
        newest = match.id if in_file else values_in_force(self._store, [match.id]).newest(match.id)
        late = newest not in {match.id, known.shown}
        return AlreadyKnown(
            survivor=None if in_file else known.shown,
            verdict=match.verdict,
            confirmations=0
            if in_file
            else writing.confirm(self._store, request, known.shown, match, counted=counted),
            match=match,
            source=source,
            notes=(_OUT_OF_DATE.format(match.id, newest),) if late else (),
        )


def _or_error(
    work: Callable[[tuple[str, Details]], _T], given: tuple[str, Details]
) -> _T | InputError | UsageError:
    """Returns the result of work on one text, or the error that is of this text alone."""
    try:
        return work(given)
    except (InputError, UsageError) as problem:
        return problem


@contextmanager
def _invalidated(index: MemoryIndex) -> Iterator[None]:
    """Marks an index that could not follow, to be brought up from the start the next time."""
    try:
        yield
    except BaseException:
        index.token = ""
        raise


def _notes(opening: Tally, tally: Tally, more: Sequence[str], *, by_words: bool) -> tuple[str, ...]:
    """Returns what was skipped, capped or fallen back on, one sentence each.

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
    """Remembers one text, unless the store says it already. For several, a `Guard` is quicker.

    Args:
        store: Any open store.
        text: The text.
        settings: As for `Guard`.
        boot: As for `Guard`.
        recalled: As for `Guard`.
        wait: As for `Guard`.
        **details: See `Details`.

    Returns:
        The answer of `Guard.remember`, which documents the errors too.
    """
    with Guard(store, settings, boot=boot, recalled=recalled, wait=wait) as guard:
        return guard.remember(text, **details)

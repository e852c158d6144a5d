"""A review of one store: its items, the answers so far, and the plan of the answers.

A page, a command line and a program go through the same session. Every answer is in the ledger
before the call returns, so a review can be left at any moment and gone on with later. Nothing but
`apply` and `undo_run` changes a memory.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from math import ceil
from statistics import median
from typing import Final

from echoless.core.errors import InputError, PlanRefused, UsageError
from echoless.core.groups import PRIOR_SURVIVOR
from echoless.core.model import Memory
from echoless.core.run_notes import Progress
from echoless.core.settings import Settings
from echoless.core.timestamps import instant, now
from echoless.execution.actions import Rewrite
from echoless.execution.executor import Run, apply
from echoless.execution.plan import Plan
from echoless.execution.rollback import WIDEST, Undone, undo
from echoless.stores.base import Store
from echoless.stores.ledger import kept_apart
from echoless.workflows.consolidation.merge_pairs import check_pair
from echoless.workflows.consolidation.rewrite import NewVectors, new_text
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.pipeline import find
from echoless.workflows.review.answers import (
    Answer,
    AnsweredElsewhere,
    Choice,
    answer_words,
    placed,
    record_answers,
    recording,
    standing_answers,
    take_back_answers,
    withdraw,
)
from echoless.workflows.review.claims import check_goes, claim_items
from echoless.workflows.review.items import (
    CLASSES,
    STATES,
    ClassState,
    Filter,
    GroupClass,
    ItemKind,
    ReviewItem,
    State,
    note_id,
    pairs_note,
    review_items,
)
from echoless.workflows.review.pairs import window_of
from echoless.workflows.review.plan import (
    PERSON,
    Regrouped,
    items_accepted,
    overruled,
    plan_answers,
    regroup,
    survivors_of,
    unopposed,
)

__all__ = ["STATES", "Filter", "ReviewSession", "State", "open_review"]

_PACE: Final = 20
"""Latest answers whose median distance in time, of 1 to 100 s, is the speed of a person."""

_SECONDS: Final = 6.0
"""Seconds that an answer takes where nobody has answered yet."""


@dataclass(slots=True)
class ReviewSession:
    """Items of one store with their answers; `open_review` makes it.

    Its methods must be called one at a time, in the thread that opened the store.

    Attributes:
        store: Open.
        settings: What the items are found with.
        window: Hours: only what touches a memory made in them; None for the whole store.
        findings: What was found last.
        items: By key, in the order they are shown.
        answers: Answers in force, by key, oldest first.
        namespaces: Those of all items, sorted.
        note: Why fewer pairs are asked about than look alike; empty where all are.
    """

    store: Store
    settings: Settings
    window: float | None = None
    findings: Findings = field(init=False)
    items: Mapping[str, ReviewItem] = field(init=False, default_factory=dict)
    answers: dict[str, Answer] = field(init=False, default_factory=dict)
    namespaces: Sequence[str] = field(init=False, default=())
    note: str = field(init=False, default="")
    _last: int = field(init=False, default=0)
    _elsewhere: frozenset[tuple[str, str]] = field(init=False, default=frozenset())
    _overruled: set[str] = field(init=False, default_factory=set)
    _counts: Counter[tuple[ItemKind, GroupClass | None, State]] = field(
        init=False, default_factory=Counter
    )
    _searched: dict[str, str] = field(init=False, default_factory=dict)
    _vectors: NewVectors = field(init=False)

    def __post_init__(self) -> None:
        """Names the encoder of new texts; it is opened once, when a text needs it."""
        self._vectors = NewVectors(None, self.settings.named_encoder)

    # ------------------------------------------------------------------ what there is

    def look(self, progress: Progress | None = None) -> None:
        """Reads the store and finds what there is to decide; answers to what stayed are known."""
        recent = None if self.window is None else window_of(self.window)
        self.findings = find(self.store, self.settings, touching=recent, progress=progress)
        asked = review_items(self.findings, claim_items(self.findings))
        self.items = {item.key: item for item in asked}
        self._read_answers()
        accepted = items_accepted(self.answers.values(), self.items, self.findings)
        self.items = {**self.items, **{item.key: item for item in accepted}}
        self.note = pairs_note(self.findings, asked)
        self.namespaces = sorted({item.namespace for item in self.items.values()})
        self._elsewhere = self.findings.apart - self._by_answers()
        self._overrule()
        self._searched.clear()

    def refresh(self) -> None:
        """Reads the answers again if any was given or taken back elsewhere meanwhile."""
        if self.store.ledger.last_review() != self._last:
            self._read_answers()
            self._overrule()

    def _read_answers(self) -> None:
        """Reads the answers in force; claims have the lines that they have now."""
        self._last = self.store.ledger.last_review()
        standing = standing_answers(self.store.ledger)
        claims = {key: item for key, item in self.items.items() if item.kind == "claim"}
        moved = {key: placed(each, claims[key]) for key, each in standing.items() if key in claims}
        self.answers = standing | moved

    def _overrule(self) -> None:
        """Records the answers that do not count because of a later change or decision."""
        self._counts.clear()
        self._overruled = {
            key
            for key, answer in self.answers.items()
            if overruled(answer, self.findings, self._elsewhere)
        }

    def _by_answers(self) -> set[tuple[str, str]]:
        """Returns the pairs that answers record as different."""
        return {pair for answer in self.answers.values() for pair in answer.apart}

    def selection(self, wanted: Filter) -> list[ReviewItem]:
        """Returns the items that a filter lets through, in the order they are shown."""
        words = wanted.words.casefold().split()
        return [
            item
            for item in self.items.values()
            if item.kind == wanted.kind
            and wanted.namespace in {None, item.namespace}
            and wanted.group_class in {None, item.group_class}
            and wanted.state in {None, self.state(item.key)}
            and (not words or self._has(item, words))
        ]

    def item(self, key: str) -> ReviewItem:
        """Returns an item.

        Raises:
            InputError: There is no such item, for example because a text changed.
        """
        item = self.items.get(key)
        if item is None:
            raise InputError(
                f"{key[:12]!r} is not asked any more: a memory of it changed, or it was applied. "
                "Load the page again, or see what is open with --list."
            )
        return item

    def state(self, key: str) -> State:
        """Returns the answer to an item, or `open`."""
        answer = self.answers.get(key)
        return answer.choice if answer is not None and key not in self._overruled else "open"

    def memory(self, id_: str) -> Memory:
        """Returns a memory of the findings."""
        return self.findings.memories[id_]

    def class_states(self) -> list[ClassState]:
        """Returns how far a person is with each class of groups, surest class first."""
        by_class = [(name, self._counted(None, name)) for name in CLASSES]
        return [
            ClassState(name, total, counts["open"])
            for name, counts in by_class
            if (total := sum(counts.values()))
        ]

    def counts(self, kind: ItemKind | None = None) -> dict[State, int]:
        """Returns how many items of a kind, or of all kinds, have which answer."""
        return self._counted(kind, None)

    def _counted(self, kind: ItemKind | None, group_class: GroupClass | None) -> dict[State, int]:
        """Returns how many items of a kind and a class have which answer; of all where None."""
        if not self._counts:  # a page asks several times, and may have 100,000 unsure pairs
            items = self.items.values()
            self._counts.update((i.kind, i.group_class, self.state(i.key)) for i in items)
        counts = dict.fromkeys(STATES, 0)
        for (of_kind, of_class, state), many in self._counts.items():
            if kind in {None, of_kind} and group_class in {None, of_class}:
                counts[state] += many
        return counts

    def answered(self) -> int:
        """Returns how many of the items that are asked have an answer."""
        return len(self.items) - self.counts()["open"]

    def minutes_left(self) -> int:
        """Returns the minutes that all open items take at the speed of the latest answers."""
        given = [instant(answer.at) or 0 for answer in [*self.answers.values()][-_PACE:]]
        gaps = [later - earlier for earlier, later in pairwise(given)]
        paces = [gap / 10**9 for gap in gaps if 10**9 < gap < 10**11] or [_SECONDS]
        return ceil(self.counts()["open"] * median(paces) / 60)

    def _has(self, item: ReviewItem, words: Iterable[str]) -> bool:
        """Returns whether all words are in the texts or ids of an item."""
        text = self._searched.get(item.key)
        if text is None:
            parts = (part for memory in item.memories for part in (memory.id, memory.content))
            text = self._searched[item.key] = "\n".join(parts).casefold()
        return all(word in text for word in words)

    # ------------------------------------------------------------------ answers

    def accept(
        self,
        key: str,
        *,
        survivor: str | None = None,
        without: Iterable[str] = (),
        text: str | None = None,
        seen: int | None = None,
    ) -> Answer:
        """Records that the memories of an item go behind one of them.

        Args:
            key: Of the item.
            survivor: The memory that stays; by default the proposed one. An unsure pair has none.
            without: Memories that are different; each is recorded as such with the survivor.
            text: New text of the survivor. It has to keep the facts of all.
            seen: Number of the answer that the person saw, 0 for none; any if None.

        Raises:
            InputError: There is no such item.
            UsageError: A memory may not go, answers contradict each other, nothing would go, or the
                text loses a fact.
            AnsweredElsewhere: There is another answer than the person saw.
        """
        item, left = self._seen(key, seen), set(without)
        keep = survivor or item.survivor
        if keep not in item.ids or keep in left:
            last = len(item.ids)
            keys = "1 or 2" if last == 2 else f"a key from 1 to {min(9, last)}"
            raise UsageError(f"Choose the memory to keep ({keys}).")
        if item.kind == "claim" and text is not None:
            raise UsageError(f"Change the text in its note: {note_id(keep)}.")
        hidden = [m.id for m in self.going(key, keep).group.members if m.id not in left]
        if not hidden:
            raise UsageError(f"Nothing would go behind {keep}. Press d: all of them stay.")
        apart = self._own_pairs(item, ((keep, id_) for id_ in left.intersection(item.ids)))
        answer = replace(
            _new(item, "accept"), survivor=keep, hidden=tuple(hidden), apart=apart, text=text
        )
        self._check(answer)
        return self._store([answer])[0]

    def differ(self, key: str, *, times: bool = False, seen: int | None = None) -> Answer:
        """Records that the memories of an item all stay; they are not proposed again.

        Every two of them are recorded; of more than `rollback.WIDEST` each with the first one.

        Args:
            key: As for `accept`.
            times: Whether the reason is that each is true at a time of its own.
            seen: As for `accept`.

        Raises:
            UsageError: As for `accept`.
        """
        item = self._seen(key, seen)
        wide = len(item.ids) > WIDEST
        pairs = ((item.ids[0], id_) for id_ in item.ids[1:]) if wide else combinations(item.ids, 2)
        answer = replace(_new(item, "different"), apart=self._own_pairs(item, pairs), times=times)
        self._check(answer)
        return self._store([answer])[0]

    def skip(self, key: str, *, seen: int | None = None) -> Answer:
        """Records that an item is left for later; arguments and errors as for `accept`."""
        return self._store([_new(self._seen(key, seen), "skip")])[0]

    def decide(self, name: str, word: str) -> str:
        """Stores an answer that is given by a word.

        Args:
            name: Key of an item, or its first characters if no other key starts so.
            word: `accept`, the number of the memory that stays, `different`, `times` or `skip`.

        Returns:
            What was stored, as a sentence.

        Raises:
            InputError: No item has that key.
            UsageError: Several have, the word is no answer, or as for `accept`.
            AnsweredElsewhere: As for `accept`.
        """
        keys = [key for key in self.items if name and key.startswith(name)]
        if len(keys) > 1:
            raise UsageError(f"{len(keys)} keys start with {name!r}. Give more of it.")
        item = self.item(keys[0] if keys else name)
        listed = ", ".join(item.ids)
        match word:
            case "different" | "times":
                answer = self.differ(item.key, times=word == "times")
                return f"{answer_words(answer)}: {listed}. Not proposed again."
            case "skip":
                self.skip(item.key)
                return f"Skipped: {listed}."
            case "accept":
                answer = self.accept(item.key)
            case _ if word.isascii() and word.isdecimal() and 1 <= int(word) <= len(item.ids):
                keep = item.ids[int(word) - 1]
                answer = self.accept(item.key, survivor=keep)
            case _:
                raise UsageError(
                    f"{word!r} is no answer. Answer with accept, a number from 1 to "
                    f"{len(item.ids)}, different, times, skip or open."
                )
        others = [id_ for id_ in item.ids if id_ not in {answer.survivor, *answer.hidden}]
        too = f" {', '.join(others)} stays too." if others else ""
        return f"Accepted: {', '.join(answer.hidden)} behind {answer.survivor}.{too}"

    def accept_rest(self, wanted: Filter) -> list[Answer]:
        """Accepts the proposals of all open groups of one class.

        Groups that an earlier answer stands against stay open.

        Args:
            wanted: Filter that names the class; its other parts narrow it, its state is ignored.

        Returns:
            The answers; `take_back` takes them back together.

        Raises:
            UsageError: No class is named, or fewer than `SAMPLE` of it were decided one by one.
        """
        self.refresh()
        state = next((s for s in self.class_states() if s.group_class == wanted.group_class), None)
        if state is None:
            raise UsageError("Name one class of groups to accept the rest of it.")
        if state.sample_left:
            raise UsageError(
                f"Decide {state.sample_left} more of this class one by one first: a sample shows "
                "whether the rest can be trusted."
            )
        batch = f"batch-{uuid.uuid4()}"
        items = unopposed(
            self.selection(replace(wanted, state="open")),
            survivors_of(self._standing()),
            self._elsewhere | self._by_answers(),
        )
        accepted = [
            replace(_new(item, "accept"), survivor=item.survivor, hidden=item.others, batch=batch)
            for item in items
        ]
        return self._store(accepted)

    def take_back(self, key: str | None = None, *, seen: int | None = None) -> list[str]:
        """Takes back one answer, or the latest answer with all answers given together with it.

        Args:
            key: Of the item; the item of the latest answer by default.
            seen: As for `accept`.

        Returns:
            Keys of the items that are open again.

        Raises:
            UsageError: There is no answer to take back.
            AnsweredElsewhere: As for `accept`.
        """
        self.refresh()
        if key is not None:
            if key not in self.answers or key in self.items:
                self._seen(key, seen)
            keys = [key] if key in self.answers else []
        else:
            standing = self._standing()
            keys = [answer.key for answer in standing[-1:]]
            if standing and (batch := standing[-1].batch):
                keys = [answer.key for answer in standing if answer.batch == batch]
        if not keys:
            raise UsageError("There is no answer to take back.")
        with self._recording():
            take_back_answers(self.store, self.answers, keys)
        for each in keys:
            del self.answers[each]
        self._counts.clear()
        return keys

    def going(self, key: str, survivor: str) -> Regrouped:
        """Returns who goes behind a survivor of an item, and who is left out and why.

        Raises:
            InputError: There is no such item.
            UsageError: That memory may not be the survivor.
        """
        item = self.item(key)
        if item.kind == "claim":
            for claim in {*item.ids} - {survivor}:
                note = self.memory(note_id(claim))
                check_goes(self.store, claim, note, self.findings.protected)
            return Regrouped(item.behind(survivor), {})
        keep = self.memory(survivor)
        if item.kind == "same" and survivor != item.survivor:
            return regroup(
                self.findings, item.behind(item.survivor), survivor, apart=self.findings.apart
            )
        if item.kind != "same":  # of a chain or a pair a person decides for all
            protected = self.findings.protected.items()
            prior = {id_ for id_, why in protected if why == PRIOR_SURVIVOR}
            for memory in item.memories:
                if memory.id != survivor:
                    check_pair(self.store, keep, memory, prior, self.settings.profile)
        return Regrouped(item.behind(survivor), {})

    def _check(self, answer: Answer) -> None:
        """Checks that an answer contradicts no earlier answer, and checks its text.

        Raises:
            UsageError: It does not.
        """
        others = [each for each in self.answers.values() if each.key != answer.key]
        apart = {*self._elsewhere, *answer.apart, *(p for each in others for p in each.apart)}
        survivors_of([*(a for a in self._standing() if a.key != answer.key), answer], apart)
        if answer.text is not None:
            self._new_text(answer.survivor, answer.hidden, answer.text)

    def _new_text(self, survivor: str, gone: Sequence[str], text: str) -> Rewrite:
        """Returns the new text of a survivor; errors as for `rewrite.new_text`."""
        memories = [self.memory(id_) for id_ in gone]
        keep = self.memory(survivor)
        return new_text(self.store, keep, memories, text, vectors=self._vectors, by=PERSON)

    def _seen(self, key: str, seen: int | None) -> ReviewItem:
        """Returns an item if its answer is the one a person saw."""
        self.refresh()
        item, answer = self.item(key), self.answers.get(key)
        if seen is not None and seen != (answer.number if answer else 0):
            raise AnsweredElsewhere(
                "This was answered meanwhile, such as in another window. Look at the answer it has "
                "now, then decide."
            )
        return item

    def _own_pairs(
        self, item: ReviewItem, pairs: Iterable[tuple[str, str]]
    ) -> tuple[tuple[str, str], ...]:
        """Returns the pairs that answers have to keep apart, smaller id first.

        Those are left out that something else keeps apart, with the texts they have now: to take an
        answer back must not take that back. Of claims the answer itself remembers it.
        """
        ordered = {(min(pair), max(pair)) for pair in pairs}
        if not ordered or item.kind == "claim":
            return ()
        elsewhere = kept_apart(self.store.ledger, self.findings.memories) - self._by_answers()
        return tuple(sorted(ordered - elsewhere))

    def _standing(self) -> list[Answer]:
        """Returns the answers to what is still asked, oldest first."""
        return [
            answer
            for key, answer in self.answers.items()
            if key in self.items and key not in self._overruled
        ]

    def _store(self, answers: list[Answer]) -> list[Answer]:
        """Writes answers, with the pairs they record as different, before anything else happens."""
        if not answers:
            return []
        with self._recording():
            numbered = record_answers(self.store, self.answers, answers)
        for answer in numbered:
            self._overruled.discard(answer.key)
            self.answers.pop(answer.key, None)  # a new answer stands behind all older ones
            self.answers[answer.key] = answer
        self._counts.clear()
        return numbered

    def withdraw(self, name: str) -> list[str]:
        """Takes decisions back, also those of others; arguments and errors as for `withdraw`.

        A pair that no item of this review is about is asked about after the next `look`.
        """
        keys = withdraw(self.store, name)
        self._elsewhere &= kept_apart(self.store.ledger, self.findings.memories)
        self.refresh()
        self._overrule()
        return keys

    @contextmanager
    def _recording(self) -> Iterator[None]:
        """Opens a transaction for answers that were checked against those known here.

        Raises:
            AnsweredElsewhere: Another answer came between.
        """
        with recording(self.store):
            if self.store.ledger.last_review() != self._last:
                self.refresh()  # also where the other review made the first ledger of the store
                raise AnsweredElsewhere(
                    "Another review stored an answer meanwhile, so this one was not stored. Look "
                    "at the answers it has now, then decide."
                )
            yield
            self._last = self.store.ledger.last_review()

    # ------------------------------------------------------------------ what becomes of them

    def plan(self) -> Plan:
        """Returns the plan of all that was accepted; writes nothing.

        Raises:
            UsageError: A new text cannot be used any more.
        """
        self.refresh()
        standing = self._standing()
        going = survivors_of(standing, self._elsewhere | self._by_answers())
        rewrites = {
            answer.survivor: self._new_text(answer.survivor, answer.hidden, answer.text)
            for answer in standing
            if answer.choice == "accept"
            and answer.text is not None
            and answer.survivor not in going
        }
        return plan_answers(self.findings, self.items, standing, rewrites, self._vectors)

    def apply(
        self,
        digest: str,
        progress: Callable[[int, int], None] | None = None,
        *,
        looking: Progress | None = None,
    ) -> Run:
        """Carries out the plan that a person saw, then looks at the store again.

        Args:
            digest: Of the plan, from `plan`; no answer may have come since.
            progress: Told how many actions of how many are done.
            looking: Told how far each stage of looking again is.

        Raises:
            PlanRefused: The answers changed since the plan was made; nothing was written.
            PlanError: As for `apply`.
            StoreError: Locked, read-only or full.
        """
        plan = self.plan()
        if plan.digest != digest:
            raise PlanRefused(
                "Answers changed since this plan was shown, so nothing was written. Look at the "
                "new plan."
            )
        run = apply(self.store, plan, progress=progress)
        self.look(looking)
        return run

    def undo_run(self, run: str, *, looking: Progress | None = None) -> Undone:
        """Undoes a run, then looks at the store again; errors as for `rollback.undo`."""
        undone = undo(self.store, run)
        self.look(looking)
        return undone


def _new(item: ReviewItem, choice: Choice) -> Answer:
    """Returns an answer of now."""
    return Answer(key=item.key, kind=item.kind, choice=choice, ids=item.ids, at=now())


def open_review(
    store: Store,
    settings: Settings,
    *,
    window: float | None = None,
    progress: Progress | None = None,
) -> ReviewSession:
    """Returns a review of a store with the answers of earlier ones.

    Args:
        store: Open store, which must stay open as long as the review.
        settings: What duplicates are found with. An encoder that they name gives new texts their
            vectors, see `rewrite.NewVectors`.
        window: Hours, above 0: only what touches a memory made in them; the whole store by default.
        progress: Told how far each stage is.

    Raises:
        EcholessError: As for `find`.
    """
    session = ReviewSession(store, settings, window)
    session.look(progress)
    return session

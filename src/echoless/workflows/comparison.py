"""Compares two states of a memory, claim by claim: what was lost, changed or added between them.

A consolidation, a clean-up or a colleague rewrites a memory, and nobody reads all of it again. Each
claim of the earlier state is looked for in the later one: letter by letter, then in other words.

```
an equal claim ........................ kept; moved where it stands in another memory now
a claim that says all of it ........... said in other words
a claim that says a part of it ........ shortened
a claim with another value ............ changed
nothing but the closest new one ....... unclear: said otherwise, or another thing
nothing of the kind ................... lost
```

A claim of the later state that no earlier one holds, and none turned into, is new.

What was lost can come back. A memory that is gone comes back whole; in one that is still there each
lost claim is put behind the claim it followed. So what lost nothing but claims becomes what it was,
byte by byte.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property, partial
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

from echoless.blocking.candidates import open_vectors
from echoless.core.batches import batched
from echoless.core.claims import ClaimKind, split_claims, weight
from echoless.core.groups import grouped
from echoless.core.model import (
    FILE,
    FIRST_LINE,
    Contradiction,
    DifferenceKind,
    Json,
    Memory,
    Side,
    Unsure,
    Update,
    Verdict,
    flipped,
    line_of,
)
from echoless.core.run_notes import Progress, Tally
from echoless.core.settings import Settings
from echoless.core.text import words
from echoless.execution.insertions import add
from echoless.ingest.forgotten import held
from echoless.matching.claims import CLOSEST, LEAST_ALIKE, holds, loosely, note_of
from echoless.matching.rule_judge import VALUES_OF_ONE
from echoless.models.encoders.base import Encoder
from echoless.models.encoders.vectorizer import encoded
from echoless.stores.base import Store, in_contexts
from echoless.stores.reading import visible_memories
from echoless.workflows.pairs import Question, Ruling, judge_pairs

_SAID: Final = frozenset({ClaimKind.SENTENCE, ClaimKind.ITEM, ClaimKind.ROW})
_LEAST_WORDS: Final = 4
"""Words of a lead, `Before writing, check for:`, that says something by itself."""

LIKELY: Final = 0.6
"""Probability of the same, inclusive, from which an unsure pair without other values counts as said
in other words: a loss is told only where it is likely."""

EDITED: Final = 85.0
"""Letters in common (`rapidfuzz.fuzz.ratio`, 0 to 100), inclusive, from which other words in a
claim are an edit of these words, and no other telling of it."""
REWRITTEN: Final = 72.0
"""Share of letters in common (`rapidfuzz.fuzz.ratio`, 0 to 100), inclusive, from which a claim that
is gone from a file turned into the new one there, rather than being lost."""


OTHERWISE: Final = 0.6
"""Cosine, inclusive, from which a claim and the new one that is its closest, and whose closest it
is, are told as a pair. Of 65 such pairs of rewritten sets ten were two things."""


class Fate(StrEnum):
    """What became of a claim."""

    LOST = "lost"
    CHANGED = "changed"
    SHORTENED = "shortened"
    UNCLEAR = "unclear"
    NEW = "new"
    MOVED = "moved"
    REWORDED = "reworded"
    KEPT = "kept"


TOLD: Final = (Fate.LOST, Fate.CHANGED, Fate.SHORTENED, Fate.UNCLEAR, Fate.NEW)
"""Fates whose claims a report lists; of the others it has the number."""


@dataclass(frozen=True, slots=True)
class Said:
    """A claim and where it stands.

    Attributes:
        memory: Id of its memory.
        home: File of the memory; its id where it has none.
        line: In the file of the memory, from 1; in its text where it has no file.
        text: What it says.
        span: Start and end in the text of its memory, in characters.
    """

    memory: str
    home: str
    line: int
    text: str
    span: tuple[int, int]

    def to_json(self) -> dict[str, Json]:
        """Returns the claim as in `compare --json`."""
        return {name: getattr(self, name) for name in ("memory", "home", "line", "text")}


@dataclass(frozen=True, slots=True)
class ClaimOutcome:
    """What became of one claim.

    Attributes:
        fate: One of `Fate`.
        before: The claim in the earlier state; None where it is new.
        after: The claim that stands for it now; None where it is lost.
        why: The evidence in one line; empty where no judge was asked.
    """

    fate: Fate
    before: Said | None
    after: Said | None
    why: str = ""

    def to_json(self) -> dict[str, Json]:
        """Returns the outcome as in `compare --json`."""
        return {
            "fate": self.fate.value,
            "before": self.before.to_json() if self.before else None,
            "after": self.after.to_json() if self.after else None,
            "evidence": self.why,
        }


@dataclass(frozen=True, slots=True)
class MemoryComparison:
    """What became of the claims of a memory.

    Attributes:
        outcomes: Of each claim; those of one fate in the order of the earlier state.
        before: Memories of the earlier state.
        after: Memories of the later state.
        tally: What was skipped, and notes.
    """

    outcomes: tuple[ClaimOutcome, ...]
    before: int
    after: int
    tally: Tally = field(default_factory=Tally)

    @property
    def counts(self) -> Mapping[Fate, int]:
        """Returns how many claims had which fate, each fate named."""
        counted = Counter(outcome.fate for outcome in self.outcomes)
        return {fate: counted[fate] for fate in Fate}

    def of(self, fate: Fate) -> tuple[ClaimOutcome, ...]:
        """Returns the claims of one fate."""
        return tuple(outcome for outcome in self.outcomes if outcome.fate is fate)

    def to_json(self) -> dict[str, Json]:
        """Returns the documented answer of `compare --json`."""
        return {
            "before": self.before,
            "after": self.after,
            "counts": {fate.value: number for fate, number in self.counts.items()},
            "claims": [e.to_json() for fate in (*TOLD, Fate.REWORDED) for e in self.of(fate)],
            "notes": list(self.tally.notes),
        }


_AT_ONCE: Final = 256
"""Claims that are compared with all of the other state at a time."""

Floats: TypeAlias = NDArray[np.float32]


class _Claim(NamedTuple):
    """A claim of one state."""

    said: Said
    form: str
    context: tuple[str, ...]


def compare(
    before: Store, after: Store, settings: Settings, *, progress: Progress | None = None
) -> MemoryComparison:
    """Returns what became of the claims of one store in another; reads only.

    Hidden memories count as gone. Titles, names of lists and paths alone are no claims.

    Args:
        before: The earlier state.
        after: The later one.
        settings: Judge and encoder.
        progress: Told how far it is.

    Raises:
        InputError: A store holds records that cannot be read.
        EncoderError: The embedding model failed.
    """
    tally, tell = Tally(), progress or (lambda _stage, _done, _all: None)
    states = [list(visible_memories(store, Tally())) for store in (before, after)]
    old, new = (list(_claims(*each)) for each in zip((before, after), states, strict=True))
    equal = _equal(old, new)
    gone = [at for at in range(len(old)) if at not in equal]
    forms = {claim.form for claim in old}  # a further copy of what was said is not new
    fresh = [at for at, claim in enumerate(new) if claim.form not in forms]
    vectors = open_vectors(settings, tell)
    near = _Nearness(vectors.encoder if vectors else None, (*old, *new))
    questions = sorted(
        {*near.closest(old, new, gone), *((a, b) for b, a in near.closest(new, old, fresh))}
    )
    rulings: dict[tuple[int, int], Ruling] = {}
    asked = (Question(f"{a} {b}", _memory(old[a], "a"), _memory(new[b], "b")) for a, b in questions)
    answers = judge_pairs(asked, settings, tally=tally)
    for done, (places, ruling) in enumerate(zip(questions, answers, strict=True)):
        tell("comparing claims", done, len(questions))
        rulings[places] = ruling
    outcomes = [
        ClaimOutcome(Fate.KEPT if one.home == other.home else Fate.MOVED, one, other)
        for one, other in ((old[a].said, new[b].said) for a, b in equal.items())
    ]
    outcomes += near.paired(list(_outcomes(old, new, gone, fresh, rulings)))
    return MemoryComparison(tuple(outcomes), len(states[0]), len(states[1]), tally)


def _claims(store: Store, memories: Sequence[Memory]) -> Iterator[_Claim]:
    """Yields the claims of memories: all but titles, names of lists, paths, code and comments.

    The line by which an index or a front matter tells what a memory is about is one of them.
    """
    read = in_contexts(store, {memory.id: memory for memory in memories})
    for memory in memories:
        native, about = read[memory.id].native, memory.metadata.get("description")
        home, note = str(native.get(FILE, memory.id)), note_of(memory.content)
        place = store.place(memory.id) if FIRST_LINE not in native else None
        placed = replace(memory, native={**native, FIRST_LINE: place[1]} if place else native)
        if isinstance(about, str) and weight(about) >= _LEAST_WORDS and (form := loosely(about)):
            yield _Claim(Said(memory.id, home, 1, about, (0, 0)), form, ())
        for claim, text, bare in zip(note.claims, note.texts, note.bare, strict=True):
            says = not bare or (claim.kind in _SAID and weight(text) >= _LEAST_WORDS)
            if says and (form := loosely(text)):
                said = Said(memory.id, home, line_of(placed, claim.start), text, claim.span)
                yield _Claim(said, form, claim.context)


def _memory(claim: _Claim, side: str) -> Memory:
    """Returns a claim as a memory that a judge reads."""
    return Memory(id=side, content=claim.said.text)


def _equal(old: Sequence[_Claim], new: Sequence[_Claim]) -> dict[int, int]:
    """Returns for each claim that has one an equal claim, by places.

    Of several equal ones the nearest is taken: of the file and context, then of the file.
    """
    places = grouped((claim.form, at) for at, claim in enumerate(new))

    def distance(one: _Claim, at: int) -> tuple[bool, bool]:
        other = new[at]
        return one.said.home != other.said.home, one.context != other.context

    return {
        at: min(places[claim.form], key=partial(distance, claim))
        for at, claim in enumerate(old)
        if claim.form in places
    }


class _Nearness:
    """Finds the closest claims of the other state: by words, and by meaning where it can."""

    def __init__(self, encoder: Encoder | None, claims: Sequence[_Claim]) -> None:
        self._encoder = encoder
        texts = dict.fromkeys(claim.said.text for claim in claims)
        self._row_of = {text: row for row, text in enumerate(texts)}

    @cached_property
    def _rows(self) -> Floats:
        """The vector of each text, read when something is not said letter by letter."""
        assert self._encoder is not None
        return encoded(self._encoder, [*self._row_of])

    def closest(
        self, ones: Sequence[_Claim], others: Sequence[_Claim], some: Sequence[int]
    ) -> Iterator[tuple[int, int]]:
        """Yields the closest claims of the other state for some claims, by places."""
        if not some or not others:
            return
        against = [each.said.text for each in others]
        for part in batched(some, _AT_ONCE):
            for shares in self._shares([ones[at].said.text for at in part], against):
                for row, at in zip(shares, part, strict=True):
                    near = np.argsort(-row, kind="stable")[:CLOSEST].tolist()
                    yield from ((at, place) for place in near if row[place] >= LEAST_ALIKE / 100)

    def paired(self, outcomes: Sequence[ClaimOutcome]) -> Iterator[ClaimOutcome]:
        """Yields outcomes; a lost claim and the new one that may say it otherwise are one."""
        lost = {e.before.text: e for e in outcomes if e.fate is Fate.LOST and e.before}
        new = {e.after.text: e for e in outcomes if e.fate is Fate.NEW and e.after}
        together: dict[ClaimOutcome, ClaimOutcome] = {}
        if self._encoder is not None and lost and new:
            shares = self._cosines([*lost], [*new])
            olds, news = [*lost.values()], [*new.values()]
            for row, column in enumerate(shares.argmax(1).tolist()):
                mutual = shares[:, column].argmax() == row
                if mutual and shares[row, column] >= OTHERWISE:
                    together[olds[row]] = news[column]
        paired = {*together.values()}
        for each in outcomes:
            if each in together:
                yield ClaimOutcome(Fate.UNCLEAR, each.before, together[each].after)
            elif each not in paired:
                yield each

    def _cosines(self, ones: Sequence[str], others: Sequence[str]) -> Floats:
        """Returns the cosine of each two texts, (ones, others)."""
        rows = [self._rows[[self._row_of[text] for text in texts]] for texts in (ones, others)]
        shares: Floats = rows[0] @ rows[1].T
        return shares

    def _shares(self, ones: Sequence[str], others: Sequence[str]) -> Iterator[Floats]:
        """Yields how close each two texts are, 0 to 1: by words in common, then by meaning."""
        folded = [[text.casefold() for text in texts] for texts in (ones, others)]
        shares: Floats = process.cdist(*folded, scorer=fuzz.token_set_ratio, dtype=np.float32)
        shares /= 100
        yield shares
        if self._encoder is not None:
            yield self._cosines(ones, others)


# ------------------------------------------------------------------ what became of a claim


def _outcomes(
    old: Sequence[_Claim],
    new: Sequence[_Claim],
    gone: Sequence[int],
    fresh: Sequence[int],
    rulings: Mapping[tuple[int, int], Ruling],
) -> Iterator[ClaimOutcome]:
    """Yields what became of claims without an equal one, then what is new."""
    open_, partners = set(fresh), defaultdict[int, list[int]](list)
    for a, b in rulings:
        partners[a].append(b)
    explained = {b for (a, b), ruling in rulings.items() if _holds(ruling.verdict, "a")}
    for at in gone:
        fate, place = _fate(old[at], new, {b: rulings[at, b].verdict for b in partners[at]}, open_)
        if place is None:
            yield ClaimOutcome(Fate.LOST, old[at].said, None)
            continue
        explained.add(place)
        yield ClaimOutcome(fate, old[at].said, new[place].said, rulings[at, place].evidence)
    for at in fresh:
        if at not in explained:
            yield ClaimOutcome(Fate.NEW, None, new[at].said)


def _fate(
    claim: _Claim, new: Sequence[_Claim], verdicts: Mapping[int, Verdict], open_: set[int]
) -> tuple[Fate, int | None]:
    """Returns what became of a claim, and the place of the one that stands for it.

    Args:
        claim: Of the earlier state.
        new: All claims of the later one.
        verdicts: On those it was judged with, by place.
        open_: Places of claims that the earlier state did not have.
    """
    own = {*words(claim.form)}
    conflicts = {at for at, each in verdicts.items() if _conflicts(each)}
    shared = {at: own & {*words(new[at].form)} for at in verdicts}
    held = [
        at
        for at, verdict in verdicts.items()
        if (_holds(verdict, "b") and (shared[at] or not own))
        or (own and at not in conflicts and own == shared[at] and not _lacks(verdict))
    ]
    if held:
        alike, best = max((fuzz.ratio(claim.form, new[at].form), at) for at in held)
        # a few words gave way to others: `full suite`, `relevant tests`; or `never sent` was added
        others = own - shared[best] and {*words(new[best].form)} - own
        differ = verdicts[best].evidence.differences
        denied = any(e.kind is DifferenceKind.NEGATION and e.b and not e.a for e in differ)
        edited = best in open_ and ((others and alike >= EDITED) or denied)
        return (Fate.UNCLEAR if edited else Fate.REWORDED), best
    if changed := sorted(conflicts & open_):
        return Fate.CHANGED, changed[0]
    parts = [at for at, verdict in verdicts.items() if at in open_ and _holds(verdict, "a")]
    if parts:
        left = own.difference(*(words(new[at].form) for at in parts))
        return (Fate.SHORTENED if left else Fate.REWORDED), parts[0]
    here = [at for at in verdicts if at in open_ and new[at].said.home == claim.said.home]
    likest = max(here, key=lambda at: fuzz.ratio(claim.form, new[at].form), default=None)
    if likest is not None and fuzz.ratio(claim.form, new[likest].form) >= REWRITTEN:
        return (Fate.CHANGED if _has_other_values(verdicts[likest]) else Fate.UNCLEAR), likest
    return Fate.LOST, None


_NAMED: Final = frozenset(
    {DifferenceKind.PATH, DifferenceKind.NAME, DifferenceKind.IDENTIFIER, DifferenceKind.VERSION}
)
_VALUES: Final = VALUES_OF_ONE | {DifferenceKind.NEGATION, DifferenceKind.POLARITY}


def _has_other_values(verdict: Verdict) -> bool:
    """Checks whether two claims give other values, rather than other words.

    A name or path that only one of them has was left out or added: that is no other one.
    """
    differences = verdict.evidence.differences
    return any(e.kind in _VALUES or (e.kind in _NAMED and e.a and e.b) for e in differences)


def _lacks(verdict: Verdict) -> bool:
    """Checks whether the later claim lacks a value or name of the earlier one, word by word.

    The words of a path may all stand there, and belong to another path.
    """
    return any(e.kind in _VALUES | _NAMED and e.a for e in verdict.evidence.differences)


def _conflicts(verdict: Verdict) -> bool:
    """Checks whether two claims cannot both be true: by their values, or as the model says."""
    if not isinstance(verdict, Update | Contradiction):
        return False
    return _has_other_values(verdict) or _is_plain(verdict)


def _is_plain(verdict: Verdict) -> bool:
    """Checks whether two claims differ in words alone, or in nothing, and in no value."""
    return all(each.kind is DifferenceKind.DETAIL for each in verdict.evidence.differences)


def _holds(verdict: Verdict, side: Side) -> bool:
    """Checks whether the claim on a side says all that the other one says, or likely does."""
    likely = isinstance(verdict, Unsure) and (verdict.evidence.chance or 0.0) >= LIKELY
    return holds(verdict if side == "b" else flipped(verdict)) or (likely and _is_plain(verdict))


# ------------------------------------------------------------------ what brings lost claims back


@dataclass(frozen=True, slots=True)
class Restoration:
    """What would bring lost claims back.

    Attributes:
        new: Memories that are gone, as they were.
        changed: Memories that are there, with the claims they lost.
        claims: How many claims come back.
    """

    new: tuple[Memory, ...] = ()
    changed: tuple[Memory, ...] = ()
    claims: int = 0


def restoration(before: Store, after: Store, made: MemoryComparison) -> Restoration:
    """Returns what would bring the lost claims of a comparison back; reads only.

    Args:
        before: The earlier state.
        after: The later one.
        made: What became of the claims.
    """
    gone = (each.before for each in made.of(Fate.LOST) if each.before is not None)
    # neither what an index or front matter says, nor what was to be forgotten
    why_not = held(after)
    lost = [said for said in gone if said.span[1] and not why_not(said.text)]
    by_memory = grouped((said.memory, said) for said in lost)
    old, now = before.get(by_memory), after.get(by_memory)
    changed = []
    for id_, memory in now.items():
        spans = [said.span for said in by_memory[id_]]
        text = inserted(memory.content, old[id_].content, spans)
        changed.append(replace(memory, content=text, vectors=()))
    return Restoration(
        tuple(replace(old[id_], vectors=()) for id_ in by_memory if id_ not in now),
        tuple(changed),
        len(lost),
    )


def restore(after: Store, wanted: Restoration) -> str:
    """Writes a restoration as one run and returns its id, for `undo`.

    Args:
        after: The later state.
        wanted: Not empty.

    Raises:
        EcholessError: As `insertions.add`; then nothing was written.
    """
    why = "lost since an earlier state"
    return add(after, wanted.new, profile=after.profile, why=why, changed=wanted.changed)


def inserted(text: str, old: str, spans: Sequence[tuple[int, int]]) -> str:
    """Returns a text with parts of an earlier one, each behind what it followed there.

    Args:
        text: The later text.
        old: The earlier one.
        spans: Claims of the earlier text, which the later one lacks.
    """
    wanted, done, rest = {*spans}, "", text
    for claim in split_claims(old):
        said = old[claim.start : claim.end]
        if claim.span in wanted:
            if done and not done[-1].isspace() and old[claim.start - 1] == "\n":
                done += "\n"
            if rest and not said[-1].isspace():
                said += "\n"
            while rest.startswith("\n") and said.endswith("\n\n"):
                rest = rest[1:]  # a line that was taken out left the blank ones around it
            done += said
        elif said.rstrip() in rest:
            end = rest.index(said.rstrip()) + len(said.rstrip())
            blank = len(said) - len(said.rstrip())
            end += len(rest[end : end + blank]) - len(rest[end : end + blank].lstrip())
            done, rest = done + rest[:end], rest[end:]
    return done + rest

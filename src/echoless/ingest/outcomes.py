"""Answers of the guard, as values; nothing here reads or writes a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from echoless.core.model import Json, JsonObject

Source = Literal["store", "recalled", "boot file"]
"""Where a known text was found: in the store, among what was just handed to the agent, or in a file
the agent reads at its start."""

SOURCES: Final[tuple[Source, ...]] = ("store", "recalled", "boot file")

_FORCE: Final = "To store it all the same, remember it again with force."


@dataclass(frozen=True, slots=True)
class Match:
    """Memory the text was compared with.

    Attributes:
        id: Its id.
        similarity: 0 to 1, by the detector that saw the two closest.
        how: That detector.
        verdict: The judge's word with the new text first: `duplicate`, `subsumes`, ...
        evidence: Why, in one line.
        difference: Kind of the named difference (`number`, `date`, ...), or None.
        text: Its text.
        chance: Probability that both say the same, 0 to 1; None where the decision was not asked.
        sentence: The verdict as a clause for a person; not in JSON.
    """

    id: str
    similarity: float
    how: str
    verdict: str
    evidence: str
    difference: str | None
    text: str
    chance: float | None = None
    sentence: str = field(default="", compare=False)

    def to_json(self) -> dict[str, Json]:
        """Returns all fields by name, but for the clause."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "sentence"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Answer that the text is a memory now.

    Attributes:
        id: Its id.
        linked: Memories on the same matter, closest first, that it says nothing again of. The new
            record links to them where `links` was asked for.
        run: For `undo`; empty in a dry run.
        notes: What was skipped, capped or fallen back on, one sentence each.
    """

    id: str
    linked: tuple[Match, ...] = ()
    run: str = ""
    notes: tuple[str, ...] = ()

    @property
    def override(self) -> str:
        """Returns how to have it otherwise."""
        return f"To take it back: undo {self.run}." if self.run else "Nothing was written."

    def to_json(self) -> dict[str, Json]:
        """Returns the answer in the form of `remember --json`."""
        return {"answer": "admitted", "id": self.id, "run": self.run, **_more(self.linked, self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadyKnown:
    """Answer that a memory says it already; nothing was added and no record changed.

    Attributes:
        survivor: Id of the memory that says it, the visible one; None if it stands in a boot file.
        verdict: `duplicate`, or `subsumes` where the memory says it and more. Of a text that is
            said to come out of memory it may be `unsure`.
        confirmations: How often the memory was said again so far, this time included. A text that
            came out of memory itself confirms nothing.
        match: What it was compared with: the survivor, a duplicate hidden behind it, or a line.
        source: Where it was found.
        notes: What was skipped, capped or fallen back on, one sentence each.
    """

    survivor: str | None
    verdict: str
    confirmations: int
    match: Match
    source: Source = "store"
    notes: tuple[str, ...] = ()

    @property
    def override(self) -> str:
        """Returns how to have it otherwise."""
        return _FORCE

    def to_json(self) -> dict[str, Json]:
        """Returns the answer in the form of `remember --json`."""
        return {
            "answer": "already_known",
            "survivor": self.survivor,
            "verdict": self.verdict,
            "confirmations": self.confirmations,
            "source": self.source,
            **_more((self.match,), self),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Updates:
    """Answer that the text was added and updates an older memory: another value, or more.

    Attributes:
        old: Id of the older memory. It stays as it is and visible, unless `supersede` was asked
            for and loses no more than the older value: then it stands hidden behind the new one.
        new: Id of the new memory.
        changed: What is different: `number: 8080 | 8081` and the like, the new text first.
        match: The older memory.
        older: Further memories with still older values of the same, newest first; hidden with it.
        run: For `undo`; empty in a dry run.
        hidden: The run that hid the older memories; empty if they are visible.
        notes: What was skipped, capped or fallen back on, one sentence each.
    """

    old: str
    new: str
    changed: tuple[str, ...]
    match: Match
    older: tuple[Match, ...] = ()
    run: str = ""
    hidden: str = ""
    notes: tuple[str, ...] = ()

    @property
    def override(self) -> str:
        """Returns how to have it otherwise."""
        if not self.run:
            return "Nothing was written."
        if self.hidden:
            return f"To see the older one again: undo {self.hidden}."
        way = "supersede, and force where a note says why it stays"
        return f"To hide the older one: {way}. To take the new one back: undo {self.run}."

    def to_json(self) -> dict[str, Json]:
        """Returns the answer in the form of `remember --json`."""
        return {
            "answer": "updates",
            "old": self.old,
            "new": self.new,
            "changed": list(self.changed),
            "run": self.run,
            "hidden": self.hidden,
            **_more((self.match, *self.older), self),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedsReview:
    """Answer that nothing was stored: a person, or the agent, decides whether the text is new.

    Attributes:
        candidates: What it may repeat, closest first. Empty for a text that is said to come out of
            memory and is like nothing there.
        why: One sentence.
        notes: What was skipped, capped or fallen back on, one sentence each.
    """

    candidates: tuple[Match, ...]
    why: str
    notes: tuple[str, ...] = ()

    @property
    def override(self) -> str:
        """Returns how to have it otherwise."""
        return _FORCE

    def to_json(self) -> dict[str, Json]:
        """Returns the answer in the form of `remember --json`."""
        return {"answer": "needs_review", "why": self.why, **_more(self.candidates, self)}


Remembered: TypeAlias = Admitted | AlreadyKnown | Updates | NeedsReview


def _more(matches: Sequence[Match], answer: Remembered) -> dict[str, Json]:
    return {
        "matches": [match.to_json() for match in matches],
        "override": answer.override,
        "notes": list(answer.notes),
    }


def answer_to_keep(answer: Remembered) -> dict[str, Json]:
    """Returns an answer as the ledger keeps it: without the texts of memories.

    The ledger keeps whole texts in images only, which can be purged.
    """
    data = answer.to_json()
    matches = _list(data, "matches")
    without = [{**m, "text": ""} for m in matches if isinstance(m, Mapping)]
    return {**data, "matches": without}


def answer_from_json(data: JsonObject, texts: Mapping[str, str]) -> Remembered:
    """Returns an answer from what `answer_to_keep` gave.

    Args:
        data: Result of `answer_to_keep`.
        texts: Texts of the matches by id, of those that are still there.
    """
    matches = tuple(_match(m, texts) for m in _list(data, "matches") if isinstance(m, Mapping))
    notes = _texts(data, "notes")
    match data["answer"]:
        case "admitted":
            run = str(data["run"])
            return Admitted(id=str(data["id"]), linked=matches, run=run, notes=notes)
        case "already_known":
            survivor, confirmations = data["survivor"], data["confirmations"]
            assert isinstance(confirmations, int)
            (source,) = (each for each in SOURCES if each == data["source"])
            return AlreadyKnown(
                survivor=None if survivor is None else str(survivor),
                verdict=str(data["verdict"]),
                confirmations=confirmations,
                match=matches[0],
                source=source,
                notes=notes,
            )
        case "updates":
            return Updates(
                old=str(data["old"]),
                new=str(data["new"]),
                changed=_texts(data, "changed"),
                match=matches[0],
                older=matches[1:],
                run=str(data["run"]),
                hidden=str(data["hidden"]),
                notes=notes,
            )
        case _:
            return NeedsReview(candidates=matches, why=str(data["why"]), notes=notes)


def _match(data: JsonObject, texts: Mapping[str, str]) -> Match:
    id_, similarity, difference = str(data["id"]), data["similarity"], data["difference"]
    assert isinstance(similarity, int | float)
    chance = data["chance"]
    return Match(
        id_,
        similarity,
        str(data["how"]),
        str(data["verdict"]),
        str(data["evidence"]),
        None if difference is None else str(difference),
        texts.get(id_, ""),
        chance if isinstance(chance, float) else None,
    )


def _texts(data: JsonObject, name: str) -> tuple[str, ...]:
    return tuple(map(str, _list(data, name)))


def _list(data: JsonObject, name: str) -> Sequence[Json]:
    value = data[name]
    assert isinstance(value, Sequence)
    return value

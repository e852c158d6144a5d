"""Answers of the guard, as values; nothing here reads or writes a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Final, Literal, TypeAlias, get_args

from echoless.core.model import Json, JsonObject

Source = Literal["store", "recalled", "boot file"]
"""Where a known text was found: in the store, among what was just handed to the agent, or in a file
the agent reads at its start."""


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


_SEVERAL: Final = ("linked", "older", "candidates")
"""Fields with any number of matches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What all answers have in common.

    Attributes:
        answer: Its name in JSON.
        notes: What was skipped, capped or fallen back on, one sentence each.
    """

    answer: ClassVar[str]

    notes: tuple[str, ...] = ()

    @property
    def override(self) -> str:
        """Returns how to have it otherwise."""
        return "To store it all the same, remember it again with force."

    def to_json(self) -> dict[str, Json]:
        """Returns the answer in the form of `remember --json`: matches stand in one list."""
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        matches: list[Match] = [m for name in _SEVERAL for m in own.pop(name, ())]
        matches[:0] = [own.pop("match")] if "match" in own else []
        notes = own.pop("notes")
        return {
            "answer": self.answer,
            **{name: [*v] if isinstance(v, tuple) else v for name, v in own.items()},
            "matches": [match.to_json() for match in matches],
            "override": self.override,
            "notes": [*notes],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted(_Answer):
    """Answer that the text is a memory now.

    Attributes:
        id: Its id.
        linked: Memories on the same matter, closest first, that it says nothing again of. The new
            record links to them where `links` was asked for.
        run: For `undo`; empty in a dry run.
        notes: What was skipped, capped or fallen back on, one sentence each.
    """

    answer: ClassVar[str] = "admitted"

    id: str
    linked: tuple[Match, ...] = ()
    run: str = ""

    @property
    def override(self) -> str:
        """Returns how to have it otherwise."""
        return f"To take it back: undo {self.run}." if self.run else "Nothing was written."


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadyKnown(_Answer):
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

    answer: ClassVar[str] = "already_known"

    survivor: str | None
    verdict: str
    confirmations: int
    match: Match
    source: Source = "store"


@dataclass(frozen=True, slots=True, kw_only=True)
class Updates(_Answer):
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

    answer: ClassVar[str] = "updates"

    old: str
    new: str
    changed: tuple[str, ...]
    match: Match
    older: tuple[Match, ...] = ()
    run: str = ""
    hidden: str = ""

    @property
    def override(self) -> str:
        """Returns how to have it otherwise."""
        if not self.run:
            return "Nothing was written."
        if self.hidden:
            return f"To see the older one again: undo {self.hidden}."
        way = "supersede, and force where a note says why it stays"
        return f"To hide the older one: {way}. To take the new one back: undo {self.run}."


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedsReview(_Answer):
    """Answer that nothing was stored: a person, or the agent, decides whether the text is new.

    Attributes:
        candidates: What it may repeat, closest first. Empty for a text that is said to come out of
            memory and is like nothing there.
        why: One sentence.
        notes: What was skipped, capped or fallen back on, one sentence each.
    """

    answer: ClassVar[str] = "needs_review"

    candidates: tuple[Match, ...]
    why: str


Remembered: TypeAlias = Admitted | AlreadyKnown | Updates | NeedsReview


def answer_to_keep(answer: Remembered) -> dict[str, Json]:
    """Returns an answer as the ledger keeps it: without the texts of memories.

    The ledger keeps whole texts in images only, which can be purged.
    """
    data = answer.to_json()
    return {**data, "matches": [{**match, "text": ""} for match in _matches(data)]}


def answer_from_json(data: JsonObject, texts: Mapping[str, str]) -> Remembered:
    """Returns an answer from what `answer_to_keep` gave.

    Args:
        data: Result of `answer_to_keep`.
        texts: Texts of the matches by id, of those that are still there.
    """
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list | tuple) else value
        for name, value in data.items()
        if name not in {"answer", "matches", "override"}
    }
    matches = [
        Match(**{**match, "text": texts.get(str(match["id"]), "")})  # type: ignore[arg-type]
        for match in _matches(data)
    ]
    kind = next(each for each in get_args(Remembered) if each.answer == data["answer"])
    names = {each.name for each in fields(kind)}
    if "match" in names:
        given["match"] = matches.pop(0)
    several = {name: tuple(matches) for name in _SEVERAL if name in names}
    answer: Remembered = kind(**given, **several)
    return answer


def _matches(data: JsonObject) -> list[JsonObject]:
    matches = data["matches"]
    assert isinstance(matches, Sequence)
    return [match for match in matches if isinstance(match, Mapping)]

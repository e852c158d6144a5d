"""Actions of a plan, each on one group, as values and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal, TypeAlias

from echoless.core import json_codec as codec
from echoless.core.errors import BadRecord
from echoless.core.model import Json, JsonObject, Vector
from echoless.core.profiles import ActionKind
from echoless.core.text import count, unreadable

BY_CHAIN: Final = "joined by a chain, no direct match"
"""Evidence of a member without a verdict of its own."""

PREVIEW: Final = 160
"""Characters of a text that a plan shows."""


@dataclass(frozen=True, slots=True)
class Member:
    """A memory that a plan would hide behind a survivor, or merge into it.

    Attributes:
        id: The memory.
        fingerprint: Its state when the plan was made.
        verdict: Its direct verdict with the survivor; None in a transitive group without one.
        similarity: Their similarity, 0 to 1; None where nothing measured it.
        evidence: Why, in one line.
        preview: The beginning of its text, for the reader of the file.
        note: The note of the evidence by itself; not in the file.
        sentence: The verdict as a clause for a person; not in the file.
    """

    id: str
    fingerprint: str
    verdict: str | None
    similarity: float | None
    evidence: str
    preview: str = ""
    note: str = field(default="", compare=False)
    sentence: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A text the survivor gets in place of its own, with vectors of that text.

    Whoever proposes it has checked that no fact of the group is lost in it (law 12).

    Attributes:
        content: The new text.
        vectors: At most one for a model; the survivor's own belong to its old text and go.
        by: Who wrote it, for the reader of the plan: a person, a model's name, `echoless`.
    """

    content: str
    vectors: tuple[Vector, ...] = ()
    by: str = ""


@dataclass(frozen=True, slots=True)
class _GroupAction:
    """Fields that all actions have. Of an edit, members are the memories that say what goes.

    Attributes:
        survivor: Id of the memory that stays visible.
        fingerprint: Its state when the plan was made.
        members: The others, by id.
        why: Why this one survives.
        preview: The beginning of the survivor's text.
        gains: Fields of the survivor that a merge or deletion would change, with the new value.
        rewrite: The survivor's new text; None leaves the text alone. A mark has none.
        untouched: Fields of the survivor a merge or deletion leaves as they are.
        marked: Whether the members stand hidden behind this survivor already (deletions only).
    """

    kind: ClassVar[ActionKind | Literal["edit"]]

    survivor: str
    fingerprint: str
    members: tuple[Member, ...]
    why: str
    preview: str = ""
    gains: JsonObject = field(default_factory=dict)
    rewrite: Rewrite | None = None
    untouched: tuple[str, ...] = ()
    marked: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the survivor and the members."""
        return (self.survivor, *(m.id for m in self.members))

    @property
    def is_update(self) -> bool:
        """Whether the members go because the survivor has newer values."""
        return all(m.verdict == "update" for m in self.members)


class Mark(_GroupAction):
    """Hides the members behind the survivor; no record changes."""

    __slots__ = ()
    kind = "mark"


class Merge(_GroupAction):
    """Gives the survivor the members' metadata, then hides them."""

    __slots__ = ()
    kind = "merge"


class Delete(_GroupAction):
    """Gives the survivor the members' metadata, then removes them; the ledger keeps images."""

    __slots__ = ()
    kind = "delete"


class Edit(_GroupAction):
    """Takes claims out of the survivor's text that the members say; no member changes."""

    __slots__ = ()
    kind = "edit"


Action: TypeAlias = Mark | Merge | Delete | Edit
KINDS: Final[Mapping[str, type[Action]]] = {c.kind: c for c in (Mark, Merge, Delete, Edit)}


def counted(actions: Iterable[Action]) -> dict[str, int]:
    """Counts groups, memories that would be hidden or removed, and claims, by kind of action."""
    actions = list(actions)
    groups = {action.survivor for action in actions if not isinstance(action, Edit)}
    counts = {"groups": len(groups), **dict.fromkeys(KINDS, 0)}
    for action in actions:
        counts[action.kind] += len(action.members)
    return counts


_WRITTEN: Final = ("id", "fingerprint", "verdict", "similarity", "evidence", "preview")
"""Fields of a member in a plan file; the others are for a person who looks at a new plan."""

_DONE: Final = {"mark": "hidden", "merge": "merged", "delete": "deleted"}


def promise(counts: Mapping[str, int]) -> str:
    """Returns what a plan would do, in one sentence or two."""
    edits = _edits(counts, "would be ")
    done = _by_kind(counts, "would be ") or "nothing would change"
    groups = (
        "" if edits and not counts["groups"] else f"{count(counts['groups'], 'group')}: {done}."
    )
    return " ".join(filter(None, (groups, edits)))


def achieved(counts: Mapping[str, int]) -> str:
    """Returns the changes of a run, in one sentence or two."""
    edits = _edits(counts)
    done = f"{_by_kind(counts) or 'nothing changed'} in {count(counts['groups'], 'group')}."
    return " ".join(filter(None, ("" if edits and not counts["groups"] else done, edits)))


def _edits(counts: Mapping[str, int], would: str = "") -> str:
    """Returns how many claims are taken out, as a sentence; empty where none is."""
    return f"{count(counts['edit'], 'claim')} {would}taken out of notes." if counts["edit"] else ""


def _by_kind(counts: Mapping[str, int], would: str = "") -> str:
    """Returns how many memories are hidden, merged and deleted; empty where none is."""
    return ", ".join(
        f"{count(counts[kind], 'memory', 'memories')} {would}{done}"
        for kind, done in _DONE.items()
        if counts[kind]
    )


def action_to_json(action: Action) -> dict[str, Json]:
    """Returns an action as in a plan file."""
    optional: dict[str, Json] = {}
    if action.rewrite is not None:
        optional["rewrite"] = {
            "content": action.rewrite.content,
            "vectors": codec.vectors_to_json(action.rewrite.vectors),
            "by": action.rewrite.by,
        }
    if action.untouched:
        optional["untouched"] = list(action.untouched)
    if action.marked:
        optional["marked"] = True
    return {
        **optional,
        "action": action.kind,
        "survivor": action.survivor,
        "fingerprint": action.fingerprint,
        "why": action.why,
        "preview": action.preview,
        "gains": dict(action.gains),
        "members": [{name: getattr(m, name) for name in _WRITTEN} for m in action.members],
    }


def action_from_json(data: Json) -> Action:
    """Returns an action from what `action_to_json` gave.

    Raises:
        BadRecord: A part is missing or has the wrong form; the message names it.
    """
    data = codec.insist_object(data, "an action")
    kind = _readable(data, "action")
    if kind not in KINDS:
        raise BadRecord(f"there is no action {kind!r}")
    rewrite = None
    if data.get("rewrite") is not None:
        new = codec.insist_object(data["rewrite"], "a rewrite")
        vectors = codec.read_vectors(new.get("vectors"))
        rewrite = Rewrite(_readable(new, "content"), vectors, _readable(new, "by"))
    elif kind == Edit.kind:
        raise BadRecord("an edit has no new text")
    return KINDS[kind](
        _readable(data, "survivor"),
        _readable(data, "fingerprint"),
        tuple(_member(each) for each in _list(data, "members")),
        _readable(data, "why"),
        _readable(data, "preview"),
        codec.read_object(data.get("gains"), "gains"),
        rewrite,
        tuple(str(each) for each in _list(data, "untouched")),
        marked=data.get("marked") is True,
    )


def _member(data: Json) -> Member:
    data = codec.insist_object(data, "a member")
    return Member(
        _readable(data, "id"),
        _readable(data, "fingerprint"),
        None if data.get("verdict") is None else _readable(data, "verdict"),
        codec.read_number(data.get("similarity"), "similarity"),
        _readable(data, "evidence"),
        _readable(data, "preview"),
    )


def _list(data: JsonObject, name: str) -> Sequence[Json]:
    value = data.get(name, ())
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise BadRecord(f"{name!r} must be a list")
    return value


def _readable(data: JsonObject, name: str) -> str:
    """Returns a text that a ledger can keep."""
    text = codec.read_text(data, name)
    problem = unreadable(text)
    if problem is not None:
        raise BadRecord(f"{name!r} holds {problem}")
    return text

"""A Plan: what would be done, to which records, why. A file one can read; used once."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final, TypeAlias, cast

from echoless import codec
from echoless.errors import EcholessError, PlanUnreadable, UsageError
from echoless.groups import Group
from echoless.merging import united
from echoless.model import (
    Json,
    JsonObject,
    Judged,
    Memory,
    Vector,
    digest,
    fingerprint,
    verdict_name,
)
from echoless.profiles import ActionKind
from echoless.stores.base import Forming, as_united
from echoless.times import now

FORMAT: Final = 1
_PREVIEW: Final = 160


@dataclass(frozen=True, slots=True)
class Member:
    """A memory that would stand behind, or go into, a survivor.

    Attributes:
        id: The memory.
        fingerprint: Its state when the plan was made.
        verdict: Its direct verdict with the survivor; None in a transitive group without one.
        similarity: Their similarity, 0 to 1; None where nothing measured it.
        evidence: Why, in one line.
        preview: The beginning of its text, for the reader of the file.
    """

    id: str
    fingerprint: str
    verdict: str | None
    similarity: float | None
    evidence: str
    preview: str = ""


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
    """What all actions have.

    Attributes:
        survivor: Id of the memory that stays visible.
        fingerprint: Its state when the plan was made.
        members: The others, by id.
        why: Why this one survives.
        preview: The beginning of the survivor's text.
        gains: Fields of the survivor that a merge or deletion would change, with the new value.
        rewrite: The survivor's new text; None leaves the text alone. A mark has none.
    """

    kind: ClassVar[ActionKind]

    survivor: str
    fingerprint: str
    members: tuple[Member, ...]
    why: str
    preview: str = ""
    gains: JsonObject = field(default_factory=dict)
    rewrite: Rewrite | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """Survivor and members."""
        return (self.survivor, *(m.id for m in self.members))


class Mark(_GroupAction):
    """Hide the members behind the survivor; no record changes."""

    __slots__ = ()
    kind = "mark"


class Merge(_GroupAction):
    """Give the survivor the members' metadata, then hide them."""

    __slots__ = ()
    kind = "merge"


class Delete(_GroupAction):
    """Give the survivor the members' metadata, then remove them; the ledger keeps their images."""

    __slots__ = ()
    kind = "delete"


Action: TypeAlias = Mark | Merge | Delete
_CLASSES: Final[Mapping[str, type[Mark | Merge | Delete]]] = {
    c.kind: c for c in (Mark, Merge, Delete)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A preview that can be carried out exactly once.

    Attributes:
        id: Unique.
        store: Identity of the store it was made for.
        url: Where that store was.
        profile: Name of the profile.
        settings: Digest of the settings.
        created_at: When it was made.
        actions: In the order they will be carried out, largest group first.
    """

    id: str
    store: str
    url: str
    profile: str
    settings: str
    created_at: str
    actions: tuple[Action, ...]

    @property
    def counts(self) -> Mapping[str, int]:
        """Groups, and memories that would be hidden or removed, by kind of action."""
        made = {"groups": len(self.actions), "mark": 0, "merge": 0, "delete": 0}
        for action in self.actions:
            made[action.kind] += len(action.members)
        return made

    @property
    def digest(self) -> str:
        """Over what the plan would do: equal for equal records and settings (law 10)."""
        return digest(
            [self.store, self.profile, self.settings, [_action_json(a) for a in self.actions]]
        )

    def to_json(self) -> dict[str, Json]:
        """The file's content."""
        return {
            "echoless_plan": FORMAT,
            "id": self.id,
            "store": self.store,
            "url": self.url,
            "profile": self.profile,
            "settings": self.settings,
            "created_at": self.created_at,
            "counts": dict(self.counts),
            "actions": [_action_json(a) for a in self.actions],
            "digest": self.digest,
        }


def make_plan(
    groups: Sequence[Group],
    memory: Callable[[str], Memory],
    *,
    action: ActionKind,
    reasons: Mapping[str, str],
    store: str,
    url: str,
    profile: str,
    settings: str,
    measure: Callable[[str, str], float | None] | None = None,
    rewrites: Mapping[str, Rewrite] | None = None,
    form: Forming = as_united,
) -> Plan:
    """Make a plan from groups; reads nothing, writes nothing.

    Args:
        groups: In the order they should be acted on.
        memory: Memory by id, as it was when the groups were found.
        action: `mark`, `merge` or `delete`.
        reasons: Why each survivor survives, by id.
        store: Identity of the store.
        url: Its URL.
        profile: Name of the profile.
        settings: Digest of the settings.
        measure: Similarity of two ids for members of transitive groups without a verdict.
        rewrites: New texts of survivors, by id; for `merge` and `delete` only.
        form: What a merge makes of a survivor in that store.

    Raises:
        UsageError: Unknown action, or a rewrite for a mark.
    """
    if rewrites and action == "mark":
        raise UsageError("A mark changes no record, so it cannot rewrite one. Use merge or delete.")
    if action not in _CLASSES:
        raise UsageError(f"Unknown action {action!r}. Known: {', '.join(_CLASSES)}.")
    made = _CLASSES[action]
    actions = []
    for group in groups:
        survivor = memory(group.survivor)
        members = tuple(
            _member(memory(m.id), group.survivor, m.judged, measure) for m in group.members
        )
        gains = (
            {}
            if action == "mark"
            else _gains(survivor, [memory(m.id) for m in group.members], form)
        )
        actions.append(
            made(
                survivor.id,
                fingerprint(survivor),
                members,
                reasons[survivor.id],
                _preview(survivor.content),
                gains,
                (rewrites or {}).get(survivor.id),
            )
        )
    return Plan(
        id=f"plan-{uuid.uuid4()}",
        store=store,
        url=url,
        profile=profile,
        settings=settings,
        created_at=now(),
        actions=tuple(actions),
    )


def _member(
    memory: Memory,
    survivor: str,
    judged: Judged | None,
    measure: Callable[[str, str], float | None] | None,
) -> Member:
    if judged is None:
        similarity = measure(memory.id, survivor) if measure else None
        return Member(
            memory.id,
            fingerprint(memory),
            None,
            similarity,
            "joined by a chain, no direct match",
            _preview(memory.content),
        )
    evidence = judged.verdict.evidence
    return Member(
        memory.id,
        fingerprint(memory),
        verdict_name(judged.verdict),
        evidence.similarity,
        evidence.line(),
        _preview(memory.content),
    )


def _gains(survivor: Memory, members: Sequence[Memory], form: Forming) -> dict[str, Json]:
    new = form(survivor, members, united(survivor, members)[0])
    return {
        name: codec.field_to_json(new, name)
        for name in (*codec.FIELDS, "extra")
        if codec.field_to_json(new, name) != codec.field_to_json(survivor, name)
    }


def _preview(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _PREVIEW else flat[: _PREVIEW - 1] + "…"


def _action_json(action: Action) -> dict[str, Json]:
    rewrite = {} if action.rewrite is None else {"rewrite": _rewrite_json(action.rewrite)}
    return {
        **rewrite,
        "action": action.kind,
        "survivor": action.survivor,
        "fingerprint": action.fingerprint,
        "why": action.why,
        "preview": action.preview,
        "gains": dict(action.gains),
        "members": [
            {
                "id": m.id,
                "fingerprint": m.fingerprint,
                "verdict": m.verdict,
                "similarity": m.similarity,
                "evidence": m.evidence,
                "preview": m.preview,
            }
            for m in action.members
        ],
    }


def _rewrite_json(rewrite: Rewrite) -> dict[str, Json]:
    vectors = codec.vectors_to_json(rewrite.vectors)
    return {"content": rewrite.content, "vectors": vectors, "by": rewrite.by}


def write_plan(plan: Plan, path: Path) -> None:
    """Write the file; an existing one is not overwritten.

    Raises:
        UsageError: The file exists, or its folder does not.
    """
    text = json.dumps(plan.to_json(), ensure_ascii=True, indent=2) + "\n"
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(
            f"{path} exists. Give the plan another name, or remove that file first."
        ) from None
    except OSError as problem:
        raise UsageError(f"The plan cannot be written to {path} ({problem.strerror}).") from problem


def read_plan(path: Path) -> Plan:
    """Read a plan file.

    Raises:
        PlanUnreadable: It is missing, no plan, of a newer format, or was edited.
    """
    try:
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise PlanUnreadable(f"There is no plan file {path}.") from None
    except (OSError, ValueError) as problem:
        raise PlanUnreadable(
            f"{path} is not a plan ({problem}). Make one with --plan."
        ) from problem
    if not isinstance(data, dict) or "echoless_plan" not in data:
        raise PlanUnreadable(f"{path} is not a plan. Make one with `echoless dedup --plan FILE`.")
    if data["echoless_plan"] != FORMAT:
        raise PlanUnreadable(
            f"{path} has plan format {data['echoless_plan']!r}; this echoless reads {FORMAT}."
        )
    try:
        plan = plan_from_json(data)
    except (KeyError, TypeError, AttributeError, EcholessError) as problem:
        raise PlanUnreadable(f"{path} is damaged ({problem!r}). Make a new plan.") from problem
    if plan.digest != data.get("digest"):
        raise PlanUnreadable(
            f"{path} was edited: its digest no longer fits. Plans are not edited by hand; use "
            "`echoless dedup --interactive` to choose group by group."
        )
    return plan


def plan_from_json(data: JsonObject) -> Plan:
    """A plan from what `Plan.to_json` gave; the digest is not checked."""
    actions = cast("Sequence[JsonObject]", data["actions"])
    return Plan(
        id=str(data["id"]),
        store=str(data["store"]),
        url=str(data["url"]),
        profile=str(data["profile"]),
        settings=str(data["settings"]),
        created_at=str(data["created_at"]),
        actions=tuple(_action(a) for a in actions),
    )


def _action(data: JsonObject) -> Action:
    members = cast("Sequence[Mapping[str, str]]", data["members"])
    return _CLASSES[str(data["action"])](
        str(data["survivor"]),
        str(data["fingerprint"]),
        tuple(
            Member(
                m["id"],
                m["fingerprint"],
                m["verdict"],
                cast("float | None", m["similarity"]),
                m["evidence"],
                m["preview"],
            )
            for m in members
        ),
        str(data["why"]),
        str(data["preview"]),
        cast("JsonObject", data["gains"]),
        _rewrite(cast("JsonObject | None", data.get("rewrite"))),
    )


def _rewrite(data: JsonObject | None) -> Rewrite | None:
    if data is None:
        return None
    vectors = codec.read_vectors(data["vectors"])
    return Rewrite(str(data["content"]), vectors, str(data["by"]))

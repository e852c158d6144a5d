"""Plan of what is done to which records, and why: a file one can read, used once."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias

from echoless.core import json_codec as codec
from echoless.core.errors import BadRecord, InputError, PlanUnreadable, StoreError, UsageError
from echoless.core.groups import Group, Membership, grouped
from echoless.core.model import Json, JsonObject, Judged, Memory, digest, fingerprint, verdict_name
from echoless.core.profiles import ACTIONS, ActionKind
from echoless.core.secrets import shortened
from echoless.core.timestamps import now
from echoless.core.verdict_sentences import sentence
from echoless.execution.actions import (
    BY_CHAIN,
    KINDS,
    PREVIEW,
    Action,
    Delete,
    Edit,
    Member,
    Rewrite,
    action_from_json,
    action_to_json,
    counted,
)
from echoless.execution.field_merge import merged
from echoless.stores import ledger
from echoless.stores.base import Store
from echoless.stores.files import check_new, read_bytes, write_new

FORMAT: Final = 1

LEAVABLE: Final = ("tags", "metadata")
"""Fields of a survivor that a plan may leave as they are; the others' values are in the ledger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Preview of what is done to a store; it can be carried out exactly once.

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
        """Counts groups, and memories that would be hidden or removed, by kind of action."""
        return counted(self.actions)

    @property
    def digest(self) -> str:
        """Returns a digest of what the plan does: equal for equal records and settings (law 10)."""
        return digest(
            [self.store, self.profile, self.settings, [action_to_json(a) for a in self.actions]]
        )

    def to_json(self) -> dict[str, Json]:
        """Returns the content of a plan file."""
        return {
            "echoless_plan": FORMAT,
            "id": self.id,
            "store": self.store,
            "url": self.url,
            "profile": self.profile,
            "settings": self.settings,
            "created_at": self.created_at,
            "counts": dict(self.counts),
            "actions": [action_to_json(a) for a in self.actions],
            "digest": self.digest,
        }


Measure: TypeAlias = Callable[[str, str], float | None]
"""Similarity of two memories by their ids; None where they cannot be compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanBasis:
    """The store and settings a plan is made for, and the rules that follow from them.

    Attributes:
        store: Identity of the store.
        url: Its URL.
        profile: Name of the profile.
        settings: Digest of the settings.
        measure: Similarity for members of transitive groups without a verdict.
        rules: The store's own rules of merging, where it has some.
        retained: Why a memory may be hidden but not removed, by id. Where others are deleted it is
            marked, in an action before theirs; a group whose survivor is rewritten is merged.
    """

    store: str
    url: str
    profile: str
    settings: str
    measure: Measure | None = None
    rules: Store | None = None
    retained: Mapping[str, str] = field(default_factory=dict)


def make_plan(
    groups: Sequence[Group],
    memory: Callable[[str], Memory],
    basis: PlanBasis,
    *,
    action: ActionKind,
    reasons: Mapping[str, str],
    rewrites: Mapping[str, Rewrite] | None = None,
    untouched: Sequence[str] = (),
) -> Plan:
    """Returns a plan for groups; reads nothing, writes nothing.

    Args:
        groups: In the order they should be acted on.
        memory: Memory by id, as it was when the groups were found.
        basis: What it is made for.
        action: `mark`, `merge` or `delete`.
        reasons: Why each survivor survives, by id.
        rewrites: New texts of survivors, by id; for `merge` and `delete` only.
        untouched: Fields of the survivors that stay as they are: `tags`, `metadata`.

    Raises:
        UsageError: Unknown action, a field that cannot stay, or a rewrite for a mark.
    """
    if rewrites and action == "mark":
        raise UsageError("A mark changes no record, so it cannot rewrite one. Use merge or delete.")
    if action not in ACTIONS:
        raise UsageError(f"Unknown action {action!r}. Known: {', '.join(ACTIONS)}.")
    unknown = sorted(set(untouched) - set(LEAVABLE))
    if unknown:
        raise UsageError(f"{unknown[0]!r} cannot be left alone. Known: {', '.join(LEAVABLE)}.")
    actions: list[Action] = []
    for group in groups:
        survivor = memory(group.survivor)
        rewrite = (rewrites or {}).get(survivor.id)
        for kind, part in _parts(group, action, basis.retained, rewrite):
            duplicates = [memory(m.id) for m in part]
            actions.append(
                KINDS[kind](
                    survivor.id,
                    fingerprint(survivor),
                    tuple(
                        _judged_member(memory(m.id), survivor.id, m.judged, basis.measure)
                        for m in part
                    ),
                    reasons[survivor.id],
                    shortened(survivor.content, PREVIEW),
                    gains(survivor, duplicates, kind, basis.rules, untouched),
                    rewrite,
                    tuple(untouched),
                )
            )
    return Plan(
        id=f"plan-{uuid.uuid4()}",
        store=basis.store,
        url=basis.url,
        profile=basis.profile,
        settings=basis.settings,
        created_at=now(),
        actions=tuple(actions),
    )


def _parts(
    group: Group, action: ActionKind, retained: Mapping[str, str], rewrite: Rewrite | None
) -> list[tuple[ActionKind, tuple[Membership, ...]]]:
    """Returns the actions a group needs: those that must stay are marked before the others go."""
    staying = tuple(m for m in group.members if m.id in retained)
    if action != "delete" or not staying:
        return [(action, group.members)]
    if rewrite is not None:
        return [("merge", group.members)]
    going = tuple(m for m in group.members if m.id not in retained)
    parts: list[tuple[ActionKind, tuple[Membership, ...]]] = [("mark", staying)]
    return [*parts, ("delete", going)] if going else parts


def removals(marks: Iterable[ledger.Mark], memories: Mapping[str, Memory]) -> list[Delete]:
    """Returns deletions of hidden memories, one for each survivor, by the id of the survivor.

    Args:
        marks: The marks; both memories of each must be in `memories`.
        memories: By id, as they are now.
    """
    by_survivor = grouped((mark.survivor, mark) for mark in marks)
    deletions = []
    for id_ in sorted(by_survivor):
        survivor, hidden = memories[id_], by_survivor[id_]
        deletions.append(
            Delete(
                id_,
                fingerprint(survivor),
                tuple(
                    _member(memories[m.duplicate], m.verdict or None, m.similarity, m.evidence)
                    for m in hidden
                ),
                "what stands hidden behind it is removed",
                shortened(survivor.content, PREVIEW),
                gains(survivor, [memories[m.duplicate] for m in hidden], "delete"),
                marked=True,
            )
        )
    return deletions


def _judged_member(
    memory: Memory, survivor: str, judged: Judged | None, measure: Measure | None
) -> Member:
    """Returns a member of a group with the evidence it has; None stands for none of its own."""
    if judged is None:
        similarity = measure(memory.id, survivor) if measure else None
        return _member(memory, None, similarity, BY_CHAIN)
    evidence = judged.verdict.evidence
    member = _member(memory, verdict_name(judged.verdict), evidence.similarity, evidence.line())
    clause = sentence(judged.verdict, judged.a, judged.b)
    return replace(member, note=evidence.note, sentence=clause)


def _member(memory: Memory, verdict: str | None, similarity: float | None, evidence: str) -> Member:
    preview = shortened(memory.content, PREVIEW)
    return Member(memory.id, fingerprint(memory), verdict, similarity, evidence, preview)


def gains(
    survivor: Memory,
    duplicates: Sequence[Memory],
    kind: ActionKind,
    rules: Store | None = None,
    untouched: Sequence[str] = (),
) -> dict[str, Json]:
    """Returns the fields of the survivor that an action would change, with the new value.

    Args:
        survivor: The survivor before the action.
        duplicates: The members that go behind the survivor.
        kind: `mark` changes none.
        rules: The store's own rules of merging, where it has some.
        untouched: Fields of the survivor that do not change.
    """
    if kind == "mark":
        return {}
    removed = kind == "delete"
    new, _ = merged(survivor, duplicates, rules=rules, removed=removed, untouched=untouched)
    return {
        name: codec.field_to_json(new, name)
        for name in (*codec.FIELDS, "extra")
        if codec.field_to_json(new, name) != codec.field_to_json(survivor, name)
    }


def write_plan(plan: Plan, path: Path) -> None:
    """Writes a plan file, readable for its owner only; an existing one is not overwritten.

    Raises:
        UsageError: The file exists, or its folder does not.
        StoreError: The disk is full, read-only, or failed.
    """
    check_new(path, "plan")
    write_new(path, plan_bytes(plan))


def plan_bytes(plan: Plan) -> bytes:
    """Returns the content of a plan file."""
    return (json.dumps(plan.to_json(), ensure_ascii=True, indent=2) + "\n").encode("ascii")


def read_plan(path: Path) -> Plan:
    """Reads a plan file.

    Raises:
        PlanUnreadable: It is missing, no plan, of a newer format, or was edited.
    """
    try:
        content = read_bytes(path)
    except (InputError, StoreError) as problem:
        if not path.exists():
            raise PlanUnreadable(f"There is no plan file {path}.") from None
        raise _no_plan(path, problem) from problem
    return plan_of_bytes(content, str(path))


def _no_plan(path: Path | str, problem: Exception) -> PlanUnreadable:
    return PlanUnreadable(f"{path} is not a plan ({problem}). Make one with --plan.")


def plan_of_bytes(content: bytes, path: str) -> Plan:
    """Returns the plan of the content of a plan file.

    Args:
        content: Of the file.
        path: Where it lies, for messages.

    Raises:
        PlanUnreadable: As `read_plan`.
    """
    try:
        data = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as problem:
        raise _no_plan(path, problem) from problem
    if not isinstance(data, dict) or "echoless_plan" not in data:
        raise PlanUnreadable(f"{path} is not a plan. Make one with `echoless dedup --plan FILE`.")
    if data["echoless_plan"] != FORMAT:
        raise PlanUnreadable(
            f"{path} has plan format {data['echoless_plan']!r}; this echoless reads {FORMAT}."
        )
    try:
        plan = plan_from_json(data)
        digest_now = plan.digest
    except (BadRecord, ValueError, RecursionError) as problem:
        raise PlanUnreadable(f"{path} is damaged ({problem}). Make a new plan.") from problem
    if digest_now != data.get("digest"):
        raise PlanUnreadable(
            f"{path} was edited: its digest no longer fits. Plans are not edited by hand; use "
            "`echoless review` to choose group by group."
        )
    return plan


def plan_from_json(data: JsonObject) -> Plan:
    """Returns a plan from what `Plan.to_json` gave; the digest is not checked.

    Raises:
        BadRecord: A part is missing or has the wrong form; the message names it.
    """
    actions = data.get("actions")
    if isinstance(actions, str) or not isinstance(actions, Sequence):
        raise BadRecord("'actions' must be a list")
    plan = Plan(
        id=codec.read_text(data, "id"),
        store=codec.read_text(data, "store"),
        url=codec.read_text(data, "url"),
        profile=codec.read_text(data, "profile"),
        settings=codec.read_text(data, "settings"),
        created_at=codec.read_text(data, "created_at"),
        actions=tuple(action_from_json(a) for a in actions),
    )
    staying = {action.survivor for action in plan.actions}
    going: set[str] = set()
    behind = (action for action in plan.actions if not isinstance(action, Edit))
    for member in (m for action in behind for m in action.members):
        if member.id in staying or member.id in going:  # each has one part, behind one survivor
            raise BadRecord(f"{member.id!r} has two parts in it")
        going.add(member.id)
    return plan

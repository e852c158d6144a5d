"""Makes a plan in which a model writes one text for each group (law 12).

The model proposes a text for a group; the survivor gets it if it keeps the facts of all and the
judge, who reads it beside each source, lets it stand for them. The plan is previewed and carried
out like any other, and can be undone. A group whose text is refused is left out of it: its memories
stay as they are. Without a model a survivor keeps its own text, which the judge found to say what
the others say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from echoless.core.errors import EncoderError, UsageError
from echoless.core.groups import Group
from echoless.core.model import Duplicate, Json, Memory, Subsumes, Unsure, Verdict, verdict_name
from echoless.core.profiles import SAFE, ActionKind
from echoless.execution.actions import Rewrite
from echoless.execution.plan import Plan
from echoless.models.llm import Complete, Embed, Model
from echoless.models.llm.registry import as_model
from echoless.stores.base import Store
from echoless.workflows.consolidation.llm_rewrite import Proposal, Proposed, Refused, propose_merges
from echoless.workflows.consolidation.rewrite import NewVectors, rewrite_of
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.pipeline import plan_groups
from echoless.workflows.pairs import Question, judge_pairs
from echoless.workflows.review.pairs import Consolidation

Asked = Callable[[int, int], None]
"""Told (groups asked about, groups in all)."""


@dataclass(frozen=True, slots=True)
class Unmerged:
    """A group that the plan leaves unchanged.

    Attributes:
        survivor: The memory that would have stayed.
        ids: All its memories, the survivor first.
        reason: Why, as a clause without a full stop.
    """

    survivor: str
    ids: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Condensed:
    """A plan with texts by a model, and the groups it leaves out.

    Attributes:
        plan: For `apply`; nothing was written.
        asked: Groups a model was asked about.
        written: Groups whose survivor gets a new text.
        refused: Groups left out of the plan, with the reason.
    """

    plan: Plan
    asked: int
    written: int
    refused: tuple[Unmerged, ...]

    def to_json(self) -> dict[str, Json]:
        """Returns the work of the model, as in `review --model NAME --json`."""
        return {
            "plan": self.plan.id,
            "counts": dict(self.plan.counts),
            "asked": self.asked,
            "written": self.written,
            "refused": [
                {"survivor": each.survivor, "ids": list(each.ids), "reason": each.reason}
                for each in self.refused
            ],
        }


def plan_consolidation(
    store: Store,
    found: Findings | Consolidation,
    model: Model | Complete | None = None,
    *,
    locale: str | None = None,
    action: ActionKind = "merge",
    embed: Embed | None = None,
    encoder: str | None = None,
    workers: int | None = None,
    progress: Asked | None = None,
) -> Condensed:
    """Returns a plan for the groups of a consolidation; writes nothing.

    Args:
        store: The store of it.
        found: From `consolidate` or `find`.
        model: Writes a text for each group of `to_write`; without one every survivor keeps its own.
        locale: Language of the prompt, `de`, `en` or `ja`; that of the settings by default.
        action: `merge` or `delete`; without a model also `mark`.
        embed: Gives the vectors of new texts, where survivors have stored ones.
        encoder: `name:argument`, in place of `embed`; see `rewrite.NewVectors`.
        workers: Questions on their way at a time, from 1; those of the settings by default.
        progress: Told how many groups were asked about.

    Raises:
        UsageError: It was found in another store, a mark would have to change a text, or no
            encoder fits the stored vectors; no model was asked.
        ModelUnavailable: The model can answer nothing at all.
        EncoderError: The encoder does not work; no model was asked.
    """
    findings = found.findings if isinstance(found, Consolidation) else found
    if findings.store != store.identity:
        raise UsageError(f"That was found in {findings.url}, not in {store.url}. Look again.")
    if model is None:
        return Condensed(plan_groups(findings, findings.groups, action=action), 0, 0, ())
    if action == "mark":
        raise UsageError("A mark changes no record, so it cannot take a new text. Use merge.")
    groups = to_write(findings)
    settings = findings.settings
    vectors = NewVectors(embed, encoder)
    with_vectors = (m for g in groups if (m := findings.memories[g.survivor]).vectors)
    if first := next(with_vectors, None):
        vectors.of(first, first.content)  # fails before a model is asked, which may cost money
    proposals = propose_merges(
        as_model(model),
        {group.survivor: _texts(findings, group) for group in groups},
        locale=locale or settings.locale,
        workers=workers or settings.limits.workers,
        progress=progress,
    )
    proposals |= _objections(findings, groups, proposals)
    rewrites: dict[str, Rewrite] = {}
    refused: list[Unmerged] = []
    for group in groups:
        members = _members(findings, group)
        result = _rewrite(members, proposals[group.survivor], vectors)
        match result:
            case Rewrite():
                rewrites[group.survivor] = result
            case Refused(reason=reason):
                ids = tuple(memory.id for memory in members)
                refused.append(Unmerged(group.survivor, ids, reason))
            case None:
                pass
            case _:
                assert_never(result)
    left_out = {each.survivor for each in refused}
    planned = [group for group in findings.groups if group.survivor not in left_out]
    plan = plan_groups(findings, planned, action=action, rewrites=rewrites)
    return Condensed(plan, len(groups), len(rewrites), tuple(refused))


def to_write(result: Findings | Consolidation) -> list[Group]:
    """Returns the groups a model would be asked about.

    A group needs several texts. A pinned or protected survivor, and one others stand behind
    already, keeps its text.
    """
    findings = result.findings if isinstance(result, Consolidation) else result
    return [
        group
        for group in findings.groups
        if group.survivor not in findings.protected and len(_texts(findings, group)) > 1
    ]


def _members(findings: Findings, group: Group) -> list[Memory]:
    """Returns the memories of a group, the survivor first."""
    return [findings.memories[i] for i in (group.survivor, *(m.id for m in group.members))]


def _texts(findings: Findings, group: Group) -> list[str]:
    """Returns each text of a group once, the survivor's first."""
    return list(dict.fromkeys(memory.content for memory in _members(findings, group)))


# ------------------------------------------------------------------ the judge on a text


def _objections(
    findings: Findings, groups: Sequence[Group], proposals: Mapping[str, Proposal]
) -> dict[str, Refused]:
    """Returns refusals of texts that cannot replace one of their sources, by survivor (law 3).

    The judge reads each source beside the text, whatever judge the profile has. Where it is unsure
    and has no veto, the text of the model counts, as its opinion does for pairs.
    """
    settings = findings.settings
    by_meaning = any(use.name == "semantic" for use in settings.profile.detectors)
    detectors = tuple(use for use in SAFE.detectors if by_meaning or use.name != "semantic")
    reading = replace(
        settings,
        profile=replace(SAFE, detectors=detectors),
        encoder="auto" if settings.encoder == "stored" else settings.encoder,
        verifier="none",
    )
    asked = [
        (group.survivor, Question(member.id, member, replace(member, content=proposal.text)))
        for group in groups
        if isinstance(proposal := proposals[group.survivor], Proposed)
        for member in _members(findings, group)
    ]
    refusals: dict[str, Refused] = {}
    rulings = judge_pairs((question for _, question in asked), reading)
    for (survivor, question), ruling in zip(asked, rulings, strict=True):
        if not _stands_for(ruling.verdict):
            word = verdict_name(ruling.verdict)
            why = f"the judge finds: {word} of {question.id} ({ruling.verdict.evidence.line()})"
            refusals.setdefault(survivor, Refused(why))
    return refusals


def _stands_for(verdict: Verdict) -> bool:
    """Checks whether side b may stand for side a."""
    match verdict:
        case Duplicate():
            return True
        case Subsumes(superset=side):
            return side == "b"
        case Unsure(evidence=evidence):
            return not evidence.veto
        case _:
            return False


def _rewrite(
    members: Sequence[Memory], proposal: Proposal, vectors: NewVectors
) -> Rewrite | Refused | None:
    """Returns the rewrite of a survivor, or why there is none; None leaves it its text.

    Args:
        members: Of the group, the survivor first.
        proposal: For the group.
        vectors: Gives the vector of the text.
    """
    match proposal:
        case Refused():
            return proposal
        case Proposed(text=text) if text == members[0].content:
            return None
        case Proposed(text=text, by=by):
            try:
                return rewrite_of(members[0], members, text, vectors=vectors, by=by)
            except (UsageError, EncoderError) as problem:
                return Refused(str(problem).rstrip("."))
        case _:
            assert_never(proposal)

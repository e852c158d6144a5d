"""Groups that say the same to one text each, written by a model, as a plan. Law 12.

The model proposes a text for a group; the survivor gets it if it keeps the facts of all and the
judge, who reads it beside each source, lets it stand for them. The plan
is previewed and carried out like any other, and can be undone. A group whose text is refused is
left out of it: its memories stay as they are. Without a model a survivor keeps its own text, which
the judge found to say what the others say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from echoless.actions import Rewrite
from echoless.consolidating import Consolidation
from echoless.errors import EncoderError, UsageError
from echoless.findings import Findings
from echoless.groups import Group
from echoless.judging import judge_pairs
from echoless.llm import Complete, Embed, Model
from echoless.llm.bridge import as_model
from echoless.model import Duplicate, Json, Memory, Subsumes, Unsure, Verdict, verdict_name
from echoless.pipeline import plan_groups
from echoless.planning import Plan
from echoless.profiles import SAFE, ActionKind
from echoless.proposing import Proposal, Proposed, Refused, propose_merges
from echoless.questions import Question
from echoless.rewriting import NewVectors, rewrite_of
from echoless.settings import Settings
from echoless.stores.base import Store
from echoless.tally import Tally

Asked = Callable[[int, int], None]
"""Told (groups asked about, groups in all)."""


@dataclass(frozen=True, slots=True)
class Unmerged:
    """A group that stays as it is.

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
    """A plan with texts by a model, and what it leaves out.

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
        """What the model did, as in `consolidate --json`; the plan is in its file."""
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
    """A plan for the groups of a consolidation; writes nothing.

    Args:
        store: The store of it.
        found: From `consolidate` or `find`.
        model: Writes a text for each group of `to_write`; without one every survivor keeps its own.
        locale: Language of the prompt, `de`, `en` or `ja`; that of the settings by default.
        action: `merge` or `delete`; without a model also `mark`.
        embed: Gives the vectors of new texts, where survivors have stored ones.
        encoder: `name:argument`, in place of `embed`; see `rewriting.NewVectors`.
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
    desk = _Desk(findings, NewVectors(embed, encoder))
    desk.check_vectors(groups)
    proposals = propose_merges(
        as_model(model),
        {group.survivor: _texts(findings, group) for group in groups},
        Tally(),  # the refusals are told in full
        locale=locale or settings.locale,
        workers=workers or settings.limits.workers,
        progress=progress,
    )
    proposals |= _objections(findings, groups, proposals)
    rewrites: dict[str, Rewrite] = {}
    refused: list[Unmerged] = []
    for group in groups:
        answer = desk.taken(group, proposals[group.survivor])
        match answer:
            case Rewrite():
                rewrites[group.survivor] = answer
            case Unmerged():
                refused.append(answer)
            case None:
                pass
            case _:
                assert_never(answer)
    out = {each.survivor for each in refused}
    kept = [group for group in findings.groups if group.survivor not in out]
    made = plan_groups(findings, kept, action=action, rewrites=rewrites)
    return Condensed(made, len(groups), len(rewrites), tuple(refused))


def to_write(found: Findings | Consolidation) -> list[Group]:
    """The groups a model would be asked about: of several texts, around one that may change.

    A pinned or protected survivor, and one others stand behind already, keeps its text; so does
    one whose group has no other.
    """
    findings = found.findings if isinstance(found, Consolidation) else found
    return [
        group
        for group in findings.groups
        if group.survivor not in findings.protected and len(_texts(findings, group)) > 1
    ]


def _members(findings: Findings, group: Group) -> list[Memory]:
    return [findings.memories[i] for i in (group.survivor, *(m.id for m in group.members))]


def _texts(findings: Findings, group: Group) -> list[str]:
    """Each text once, the survivor's first."""
    return list(dict.fromkeys(memory.content for memory in _members(findings, group)))


# ------------------------------------------------------------------ what the judge says of a text


def _objections(
    findings: Findings, groups: Sequence[Group], proposals: Mapping[str, Proposal]
) -> dict[str, Refused]:
    """Refusals of texts that cannot stand for one of their sources, by survivor. Law 3.

    The judge reads each source beside the text. Where it is unsure and has no veto, the word of the
    model counts, as it does for pairs.
    """
    asked = [
        (group.survivor, Question(member.id, member, replace(member, content=proposal.text)))
        for group in groups
        if isinstance(proposal := proposals[group.survivor], Proposed)
        for member in _members(findings, group)
    ]
    found: dict[str, Refused] = {}
    rulings = judge_pairs((question for _, question in asked), _reading(findings))
    for (survivor, question), ruling in zip(asked, rulings, strict=True):
        if not _stands_for(ruling.verdict):
            word = verdict_name(ruling.verdict)
            why = f"the judge finds: {word} of {question.id} ({ruling.verdict.evidence.line()})"
            found.setdefault(survivor, Refused(why))
    return found


def _stands_for(verdict: Verdict) -> bool:
    """Whether side b may stand for side a."""
    match verdict:
        case Duplicate():
            return True
        case Subsumes(superset=side, narrows=narrows):
            return side == "b" and not narrows
        case Unsure(evidence=evidence):
            return not evidence.veto
        case _:
            return False


def _reading(findings: Findings) -> Settings:
    """The settings of the judge that reads texts, whatever judge the profile has."""
    settings = findings.settings
    means = any(use.name == "semantic" for use in settings.profile.detectors)
    words = tuple(use for use in SAFE.detectors if means or use.name != "semantic")
    encoder = "auto" if settings.encoder == "stored" else settings.encoder
    profile = replace(SAFE, detectors=words)
    return replace(settings, profile=profile, encoder=encoder, verifier="none")


# ------------------------------------------------------------------ what comes of a text


@dataclass(frozen=True, slots=True)
class _Desk:
    """What is needed to have a text written."""

    findings: Findings
    vectors: NewVectors

    def check_vectors(self, groups: Sequence[Group]) -> None:
        """Have a vector made before a model is asked, which may cost money.

        Raises:
            UsageError: No encoder fits.
            EncoderError: It does not work.
        """
        for group in groups:
            survivor = self.findings.memories[group.survivor]
            if survivor.vectors:
                self.vectors.of(survivor, survivor.content)
                return

    def taken(self, group: Group, proposal: Proposal) -> Rewrite | Unmerged | None:
        """What comes of a proposal; None leaves the survivor its text."""
        members = _members(self.findings, group)
        match proposal:
            case Refused(reason=reason):
                return _unmerged(members, reason)
            case Proposed(text=text) if text == members[0].content:
                return None
            case Proposed(text=text, by=by):
                try:
                    return rewrite_of(members[0], members, text, vectors=self.vectors, by=by)
                except (UsageError, EncoderError) as problem:
                    return _unmerged(members, str(problem).rstrip("."))
            case _:
                assert_never(proposal)


def _unmerged(members: Sequence[Memory], reason: str) -> Unmerged:
    return Unmerged(members[0].id, tuple(memory.id for memory in members), reason)

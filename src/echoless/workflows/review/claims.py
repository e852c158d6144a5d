"""Claims of notes in a review: what one of them says again can be taken out of its note.

A long note stays whatever it repeats, so no plan that is made by rules touches it. A person decides
claim by claim. Each claim is a memory of its own there, named by its note and line, such as
`deploy.md#L14`, so that it is shown and answered like any other. What is accepted becomes an edit
of its note. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import takewhile
from typing import Final

from echoless.clustering import survivor as survivors
from echoless.core.claims import Claim, ClaimKind, split_claims
from echoless.core.errors import UsageError
from echoless.core.groups import PRIOR_SURVIVOR, Group, Membership, grouped
from echoless.core.model import (
    Contradiction,
    Judged,
    Memory,
    Subsumes,
    Unsure,
    Update,
    Vector,
    fingerprint,
    line_of,
    verdict_name,
)
from echoless.core.secrets import shortened
from echoless.execution.actions import PREVIEW, Edit, Member, Rewrite
from echoless.execution.preflight import text_stays
from echoless.matching.claims import note_of
from echoless.stores.base import Store
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.review.items import LINE, ReviewItem, item_key, note_id

_TAKEN_OUT: Final = (ClaimKind.ITEM, ClaimKind.SENTENCE, ClaimKind.ROW)


def claims_of(memory: Memory) -> dict[str, tuple[Claim, Memory]]:
    """Returns the claims of a note, each as a memory, by ids such as `deploy.md#L14`.

    The second claim that begins in a line has the id `deploy.md#L14.2`.
    """
    made: dict[str, tuple[Claim, Memory]] = {}
    begun = Counter[int]()
    for claim in split_claims(memory.content):
        text = memory.content[claim.start : claim.end]
        line = line_of(memory, claim.end - len(text.lstrip()))
        begun[line] += 1
        id_ = f"{memory.id}{LINE}{line}" + (f".{begun[line]}" if begun[line] > 1 else "")
        made[id_] = claim, replace(memory, id=id_, content=claim.of(memory.content), vectors=())
    return made


def claim_items(findings: Findings) -> Iterator[ReviewItem]:
    """Yields an item for each two claims of visible notes that repeat or deny each other."""
    order = survivors.Standing(findings.settings.profile.survivor, frozenset(), reads=False)
    ids = {id_ for pair in findings.claims for id_ in (pair.a, pair.b)}
    places = {
        id_: {claim.span: each for claim, each in claims_of(findings.memories[id_]).values()}
        for id_ in ids
        if findings.as_read(id_).content == findings.memories[id_].content
    }
    for pair in findings.claims:
        if pair.a in places and pair.b in places:
            a, b = places[pair.a][pair.span_a], places[pair.b][pair.span_b]
            judged = Judged(a.id, b.id, pair.verdict)
            survivor, why = _proposal(findings, a, b, judged, order)
            yield ReviewItem(
                key=item_key("claim", (a, b)),
                kind="claim",
                memories=(a, b),
                survivor=survivor,
                why=why,
                verdicts={a.id: judged, b.id: judged},
            )


def _proposal(
    findings: Findings, a: Memory, b: Memory, judged: Judged, order: survivors.Standing
) -> tuple[str, str]:
    """Returns which of two claims stays, and why; two empty texts where a person has to choose."""
    match judged.verdict:
        case Subsumes(superset=side) | Update(newer=side):
            newer = isinstance(judged.verdict, Update)
            return (a if side == "a" else b).id, "the newest value" if newer else "it says more"
        case Contradiction() | Unsure():
            return "", ""
    notes = findings.memories[note_id(a.id)], findings.memories[note_id(b.id)]
    if notes[0] is notes[1]:
        return a.id, "it comes first"
    first, second = sorted(notes, key=order.key)
    group = Group(first.id, (Membership(second.id, None),))
    why = survivors.why(group, findings.memories.__getitem__, order)
    return (a if first is notes[0] else b).id, f"its note: {why}"


# ------------------------------------------------------------------ edits


def check_goes(store: Store, claim: str, note: Memory, protected: Mapping[str, str]) -> None:
    """Checks that a claim may be taken out of its note.

    Args:
        store: Of the note.
        claim: Its id.
        note: The note.
        protected: Why memories stay visible whatever they say, by id.

    Raises:
        UsageError: The note is pinned, protected or the survivor of a run, or as for `without`.
    """
    prior = {id_ for id_, why in protected.items() if why == PRIOR_SURVIVOR}
    if why := text_stays(store, note, prior):
        raise UsageError(f"{why}: its text does not change.")
    without(note, {claim})


def without(note: Memory, gone: AbstractSet[str]) -> str:
    """Returns the text of a note without some claims; the others read as before.

    Headings that stand over nothing else go too. A blank line between two blocks stays.

    Args:
        note: The note.
        gone: Ids of its claims, see `claims_of`.

    Raises:
        UsageError: One is no sentence, item or row; or without them the note would say nothing, or
            its other claims something else.
    """
    claims = claims_of(note)
    fixed = [id_ for id_ in gone if id_ not in claims or claims[id_][0].kind not in _TAKEN_OUT]
    if fixed:
        raise UsageError(f"{min(fixed)} is no sentence, list item or row: it stays in its note.")
    cut = {claims[id_][0].start for id_ in gone}
    new = _cut(note.content, cut)
    if all(note_of(new).bare):
        raise UsageError(f"{note.id} would say nothing more. Hide the note instead.")
    if _read(claims, cut) != _read(claims_of(replace(note, content=new)), ()):
        named = ", ".join(sorted(gone))
        raise UsageError(f"Without {named} the rest of the note would read otherwise: edit it.")
    return new


def _read(
    claims: Mapping[str, tuple[Claim, Memory]], gone: Collection[int]
) -> list[tuple[ClaimKind, tuple[str, ...], str]]:
    """Returns how the claims of a note read, but for headings and some that go, by their start."""
    return [
        (claim.kind, claim.context, memory.content)
        for claim, memory in claims.values()
        if claim.kind is not ClaimKind.HEADING and claim.start not in gone
    ]


def _cut(text: str, starts: AbstractSet[int]) -> str:
    """Returns a text without the claims that begin at some offsets."""
    claims, gone = split_claims(text), set(starts)
    for at, claim in reversed([*enumerate(claims)]):
        under = {each.start for each in _under(claims, at)}
        if claim.kind is ClaimKind.HEADING and under and under <= gone:
            gone.add(claim.start)
    parts: list[str] = []
    for claim in claims:
        part = text[claim.start : claim.end]
        if claim.start not in gone:
            parts.append(part)
        elif parts:
            before, after = _ending(parts[-1]), _ending(part)
            if after.count("\n") > before.count("\n"):
                parts[-1] = parts[-1].removesuffix(before) + after
    return "".join(parts).rstrip() + _ending(text)


def _under(claims: Sequence[Claim], at: int) -> Iterator[Claim]:
    """Returns what stands under a claim."""
    level = len(claims[at].context)
    return takewhile(lambda each: len(each.context) > level, claims[at + 1 :])


def _ending(text: str) -> str:
    """Returns the white space at the end of a text."""
    return text[len(text.rstrip()) :]


def edits(
    findings: Findings,
    going: Mapping[str, str],
    known: Mapping[frozenset[str], Judged],
    vectors: Callable[[Memory, str], tuple[Vector, ...]],
) -> Iterator[Edit]:
    """Yields an edit for each note that loses claims.

    Args:
        findings: What was reviewed.
        going: The claim that stays for each that goes, by ids.
        known: Verdicts on two claims, by their ids.
        vectors: Gives the vectors of a note with a new text.

    Raises:
        UsageError: As for `without`.
    """
    for id_, claims in sorted(grouped((note_id(claim), claim) for claim in sorted(going)).items()):
        note = findings.memories[id_]
        members = tuple(_member(findings, each, going[each], known) for each in claims)
        new = without(note, set(claims))
        yield Edit(
            id_,
            fingerprint(note),
            members,
            "; ".join(member.evidence for member in members),
            shortened(note.content, PREVIEW),
            rewrite=Rewrite(new, vectors(note, new), "a person"),
        )


def _member(
    findings: Findings, gone: str, stays: str, known: Mapping[frozenset[str], Judged]
) -> Member:
    """Returns the note of the claim that stays, as what stands for the claim that goes."""
    taken, said = (
        claims_of(findings.memories[note_id(id_)])[id_][1].content for id_ in (gone, stays)
    )
    judged = known.get(frozenset((gone, stays)))
    return Member(
        note_id(stays),
        fingerprint(findings.memories[note_id(stays)]),
        None if judged is None else verdict_name(judged.verdict),
        None if judged is None else judged.verdict.evidence.similarity,
        f"{gone} goes for {stays}",
        shortened(taken, PREVIEW),
        sentence=shortened(said, PREVIEW),
    )

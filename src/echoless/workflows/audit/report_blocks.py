"""The report of an audit as blocks, with duplicates across stores or namespaces.

A terminal, a page and an agent get the same blocks, in the same order; `Extent` says how much of
them. Each part of the report is one function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Final, TypeAlias

from echoless.core.claims import unmarked
from echoless.core.document import (
    Block,
    Box,
    Extent,
    Figures,
    Gap,
    Heading,
    Quote,
    Table,
    TextPair,
    count,
    names,
    number,
    percent,
    quoted,
    say,
    strong,
)
from echoless.core.groups import connected, oldest_first
from echoless.core.masking import learn
from echoless.core.model import Memory
from echoless.execution.actions import KINDS, Action, Member
from echoless.execution.plan import gains
from echoless.execution.plan_blocks import (
    LEGEND,
    evidence_line,
    group_blocks,
    off_blocks,
    quote,
    skipped_blocks,
    verdict_clause,
)
from echoless.stores.base import Store
from echoless.workflows.audit.between import Between
from echoless.workflows.audit.report import Report
from echoless.workflows.audit.report_parts import ReportedClaims, ReportedGroup, ReportedPair, Share
from echoless.workflows.audit.staleness import Sign

Quoting: TypeAlias = Callable[[str], Quote]
"""Returns the text of a memory by its id, under the name that a person knows."""

_FEWEST_PARTS: Final = 2
"""Namespaces or months of which a table says more than the sum."""

HELD: Final[Mapping[str, tuple[str, str]]] = {
    "update": ("Out of date", "the second memory has the newer value of the same thing"),
    "contradiction": ("May not both be true", "nothing says which of the two is newer"),
    "unsure": ("Perhaps the same", "a person has to look; nothing is done about them"),
    "sibling": ("Same pattern, other things", "both can be true"),
    "near": ("Same topic, other facts", "they are close, and nothing need be done"),
}
"""Titles and meanings of the pairs that stay apart, by verdict."""


def audit_blocks(store: Store, report: Report, extent: Extent) -> Iterator[Block]:
    """Yields the whole report, with the present texts.

    Args:
        store: Open, the one that was audited; a memory that is gone since shows no text.
        report: The figures.
        extent: How much of it is shown.
    """
    shown = _shown_ids(report, extent)
    memories = store.get(shown)
    learn(memories.get(id_) for id_ in shown)
    yield from _summary(report)
    held = dict(report.by_kind)
    yield from _apart("update", held.pop("update", ()), memories, extent)
    yield from _largest(report, memories, store, extent)
    for kind, pairs in held.items():
        unlisted = report.near_left_out if kind == "near" else 0
        yield from _apart(kind, pairs, memories, extent, unlisted)
    yield from _claims(report, memories, extent)
    yield from _series(report, memories, extent)
    yield from _stale(report, extent)
    yield from _shares("By namespace", "namespace", report.by_namespace, extent.parts)
    yield from _shares("Growth by month of creation", "month", report.by_month, extent.parts)
    yield from skipped_blocks(report.tally)


def _shown_ids(report: Report, extent: Extent) -> Sequence[str]:
    """Returns the memories that the report shows, in their order: secrets are numbered by it."""
    some = extent.pairs
    # all members of the groups: the report says what survivors take over from them
    ids = [id_ for group in report.groups[: extent.top] for id_ in group.ids]
    for chains in map(_chains, report.by_kind.values()):
        ids += (id_ for chain in chains[:some] for pair in chain for id_ in (pair.a, pair.b))
    ids += (id_ for each in report.claims[:some] for id_ in each.pair.ids)
    ids += (each.newest or each.members[0] for each in report.series[:some])
    return list(dict.fromkeys(ids))


# ------------------------------------------------------------------ figures


def answer_blocks(report: Report) -> Iterator[Block]:
    """Yields what the audit did without, how much is repetition, and what was not asked."""
    yield from off_blocks(report.off)
    repeats, *outdated = report.answer.split(". ")
    yield say(strong(repeats), *(f". {said}" for said in outdated))
    if report.unasked:
        yield say(report.unasked)


def _summary(report: Report) -> Iterator[Block]:
    """Yields the answer, and the figures of the whole store that are not zero."""
    counts = report.counts
    yield from answer_blocks(report)
    yield Gap()
    figures = {
        "memories": counts["total"],
        "groups that say the same": counts["groups"],
        "memories in these groups": counts["participants"],
        "redundant copies, all but one of each": counts["redundant"],
        "hidden by earlier runs": report.marked,
        "estimated tokens, all visible": report.tokens,
        "estimated tokens wasted in recall": report.wasted_tokens,
        "pairs compared": counts["candidates"],
        "pairs beyond the budget, not compared": counts["left_out"],
        "pairs alike but kept apart": counts["held"],
    }
    if counts["total"]:
        yield Figures(tuple((name, number(value)) for name, value in figures.items() if value))
        yield say(f"Profile {report.profile}.")
    yield Gap()


def sign_sentence(sign: Sign) -> str:
    """Returns what a sign says; of a secret only the kind, in our own words, which hide nothing."""
    return sign.sentence if sign.kind == "secret" else quoted(sign.sentence)


def _stale(report: Report, extent: Extent) -> Iterator[Block]:
    """Yields what may be stale, by kind: all of it where everything is explained."""
    signs = report.stale or ()
    if not signs:
        return
    yield Heading(f"May be stale: {number(len(signs))}")
    yield say(
        "Nothing is hidden for this. Where Git knows the project, it says which files are gone."
    )
    shown = signs if extent.explain else signs[: extent.top]
    for sign in shown:
        yield say(strong(sign.id), f"  {sign_sentence(sign)}", level=1)
    if len(shown) < len(signs):
        yield say(f"{number(len(signs) - len(shown))} more; --explain shows all of them.")
    yield Gap()


def _shares(title: str, column: str, shares: Mapping[str, Share], most: int) -> Iterator[Block]:
    """Yields a table of the share of redundant copies in each namespace or month.

    Of many, those without redundant copies are counted in one line: a document has a namespace for
    each heading.
    """
    if len(shares) < _FEWEST_PARTS:
        return
    yield Heading(title)
    shown = {name: s for name, s in shares.items() if s.redundant or len(shares) <= most}
    rows = (
        (name or "(none)", number(s.total), number(s.redundant), percent(s.ratio))
        for name, s in shown.items()
    )
    if shown:
        yield Table(
            (column, "memories", "redundant", "share"),
            tuple(rows),
            frozenset({1, 2, 3}),
            tuple((s.total, s.redundant) for s in shown.values()),
            ("memories", "redundant copies"),
        )
    if len(shown) < len(shares):
        left = count(len(shares) - len(shown), f"more {column}" if shown else column)
        yield say(f"{left} without redundant copies; --json has all of them.")
    yield Gap()


# ------------------------------------------------------------------ groups


def _largest(
    report: Report, memories: Mapping[str, Memory], store: Store, extent: Extent
) -> Iterator[Block]:
    """Yields the largest groups, with what each survivor takes over."""
    if not report.groups:
        yield say("Nothing is said twice.")
        yield Gap()
        return
    top, whole = report.groups[: extent.top], len(report.groups)
    yield Heading(f"The same: {number(len(top))} of {count(whole, 'group')}")
    if top:
        yield LEGEND
        yield Gap()
    action, shown = KINDS[report.action], list[Action]()
    for group in top:
        survivor = memories.get(group.survivor)
        others = [memories[member.id] for member in group.members if member.id in memories]
        fields = gains(survivor, others, report.action, store) if survivor else {}
        members = tuple(
            Member(m.id, "", m.verdict, m.similarity, m.evidence or "", sentence=m.sentence)
            for m in group.members
        )
        shown.append(action(group.survivor, "", members, group.why, gains=fields))
    yield from group_blocks(
        shown, memories, members=extent.members, explained=extent.explain, repeat=extent.repeat
    )
    if len(top) < whole:
        yield from extent.more(len(top), whole, "--top")
        yield Gap()


# ------------------------------------------------------------------ what stays apart


def _apart(
    kind: str,
    held: Sequence[ReportedPair],
    memories: Mapping[str, Memory],
    extent: Extent,
    unlisted: int = 0,
) -> Iterator[Block]:
    """Yields the pairs of one kind that look alike and stay apart; nothing for none.

    Args:
        kind: One of `HELD`.
        held: The pairs, the closest first.
        memories: By id.
        extent: How many pairs are shown.
        unlisted: Pairs of the kind that are less close, and not listed.
    """
    if not held:
        return
    title, meaning = HELD[kind]
    said = [f"Not duplicates: {meaning}."]
    said += [f"The {number(len(held))} closest are listed."] if unlisted else []
    shown = _chains(held)[: extent.pairs]
    quoting = partial(quote, memories=memories)
    boxes = [
        _pair(chain[0], quoting, extent) if len(chain) == 1 else _chain(chain, memories)
        for chain in shown
    ]
    yield from _boxes(f"{title}: {number(len(held) + unlisted)}", said, boxes)
    yield from extent.more(sum(map(len, shown)), len(held), "--pairs")
    yield Gap()


def _boxes(
    title: str, sentences: Iterable[str], boxes: Iterable[Iterable[Block]]
) -> Iterator[Block]:
    """Yields a heading, sentences below it, and boxes."""
    yield Heading(title)
    yield from map(say, sentences)
    for blocks in boxes:
        yield Box(tuple(blocks), spaced=False)


def _chains(held: Sequence[ReportedPair]) -> Sequence[Sequence[ReportedPair]]:
    """Returns pairs of one kind, the closest first; updates in a row come together."""
    if not held or held[0].verdict != "update":
        return [(pair,) for pair in held]
    chains: list[Sequence[ReportedPair]] = []
    for pairs in connected(held):
        steps = {(pair.a, pair.b) for pair in pairs}
        follow = steps.issuperset(pairwise(oldest_first(steps, {})))
        chains += [pairs] if follow else [(pair,) for pair in pairs]
    places = {pair.ids: at for at, pair in enumerate(held)}
    return sorted(chains, key=lambda pairs: places[pairs[0].ids])


def _pair(pair: ReportedPair, quoting: Quoting, extent: Extent) -> Iterator[Block]:
    """Yields one pair with the differing words marked."""
    a, b = quoting(pair.a), quoting(pair.b)
    yield say(strong(a.id), " and ", strong(b.id), f"  {quoted(pair.sentence)}", level=1)
    if extent.explain:
        yield evidence_line(pair.verdict, pair.similarity, pair.evidence, level=2)
    yield TextPair(a, b, decided=pair.verdict == "update")


def _chain(chain: Sequence[ReportedPair], memories: Mapping[str, Memory]) -> Iterator[Block]:
    """Yields values of one thing over time, each with the words that differ from the one before."""
    steps = {(pair.a, pair.b): pair for pair in chain}
    first, *newer = oldest_first(steps, {})
    yield say(strong(first), f"  the oldest of {count(len(newer) + 1, 'value')}", level=1)
    yield quote(first, memories, level=2)
    for older, id_ in pairwise((first, *newer)):
        yield say(strong(id_), f"  {quoted(steps[older, id_].sentence)}", level=1)
        yield TextPair(quote(older, memories), quote(id_, memories))


def _claims(report: Report, memories: Mapping[str, Memory], extent: Extent) -> Iterator[Block]:
    """Yields the claims of notes that repeat or contradict another claim."""
    if not report.claims:
        return
    some, whole = report.claims[: extent.pairs], len(report.claims)
    said = "No plan takes them up by itself. A review asks which of two goes out of its note."
    boxes = (_claim_pair(each, memories) for each in some)
    yield from _boxes(f"Said again in notes: {number(whole)}", [said], boxes)
    yield from extent.more(len(some), whole, "--pairs")
    yield Gap()


def _claim_pair(claims: ReportedClaims, memories: Mapping[str, Memory]) -> Iterator[Block]:
    """Yields two claims with their places, and what they are to each other."""
    pair = claims.pair
    places = f"{pair.a} line {claims.line_a}", f"{pair.b} line {claims.line_b}"
    yield say(strong(" | ".join(places)), f"  {quoted(pair.sentence)}", level=1)
    old = _claim(pair.a, memories, claims.offsets_a)
    new = _claim(pair.b, memories, claims.offsets_b)
    yield TextPair(old, new, "", always=True, decided=False)


def _claim(id_: str, memories: Mapping[str, Memory], offsets: tuple[int, int]) -> Quote:
    """Returns a claim of a note, without the sign of a list item before it."""
    if id_ not in memories:
        return Quote(None, id_)
    return Quote(unmarked(memories[id_].content[slice(*offsets)].strip()), id_)


def _series(report: Report, memories: Mapping[str, Memory], extent: Extent) -> Iterator[Block]:
    """Yields the sentences that were written again and again with other figures."""
    if not report.series:
        return
    yield Heading(f"Series: {number(len(report.series))}")
    yield say("Not duplicates: one sentence or label with other values, written again and again.")
    some = report.series[: extent.pairs]
    for each in some:
        shown = each.newest or each.members[0]
        how = "keep the newest, " if each.newest else "such as "
        members = count(len(each.members), "memory", "memories")
        line = say(f"{members}; {how}", strong(shown))
        yield Box((line, *([quote(shown, memories)] if shown in memories else ())), spaced=False)
    yield from extent.more(len(some), len(report.series), "--pairs")
    yield Gap()


# ------------------------------------------------------------------ several stores or namespaces


def between_blocks(between: Between, extent: Extent, *, what: str) -> Iterator[Block]:
    """Yields the duplicates across stores or namespaces.

    Args:
        between: The report.
        extent: How many groups, members and pairs are shown.
        what: The sides: `stores` or `namespaces`.
    """

    def quoting(id_: str) -> Quote:
        place = between.places[id_]
        side = place.store if what == "stores" else place.namespace or "(none)"
        return Quote(place.content, f"{side} {place.id}")

    groups = between.groups
    yield Heading(f"Said in several {what}: {number(len(groups))}")
    yield say(
        f"Reported only: a plan never goes across {what}."
        if groups
        else f"Nothing is said in more than one of the {what}."
    )
    for at, group in enumerate(groups[: extent.top], 1):
        yield Box(tuple(_shared_group(at, group, quoting, extent)), spaced=False)
    yield from extent.more(min(extent.top, len(groups)), len(groups), "--top")
    yield Gap()
    for kind, (title, meaning) in HELD.items():
        if pairs := [pair for pair in between.pairs if pair.verdict == kind]:
            boxes = (_pair(pair, quoting, extent) for pair in pairs[: extent.pairs])
            said = [f"Not duplicates: {meaning}."]
            yield from _boxes(f"{title} between {what}: {number(len(pairs))}", said, boxes)
            yield from extent.more(min(extent.pairs, len(pairs)), len(pairs), "--pairs")
            yield Gap()
    if between.left_out:
        yield say(f"Pairs beyond the budget, not compared: {number(between.left_out)}.")
    if between.unmet:
        shown = names(name or "(none)" for name in between.unmet)
        yield say(
            f"Namespaces of different names in two stores were not compared ({shown}): they may be "
            "different users."
        )
    yield from skipped_blocks(between.tally)


def _shared_group(
    at: int, group: ReportedGroup, quoting: Quoting, extent: Extent
) -> Iterator[Block]:
    """Yields one group: the first memory, then the members with the differing words marked."""
    first = quoting(group.survivor)
    yield say(f"{at}. ", strong(first.id))
    yield first
    shown = group.members[: extent.members]
    for member in shown:
        other = quoting(member.id)
        clause = verdict_clause(member.verdict, member.sentence)
        yield say(strong(other.id), clause, level=1)
        if extent.explain:
            yield evidence_line(member.verdict, member.similarity, member.evidence, level=2)
        yield TextPair(other, first, new_above=True)
    yield from extent.more(len(shown), len(group.members), "--members", level=1)

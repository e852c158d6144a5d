"""Compares an audit with an earlier one of the same store: what got better, what got worse.

Each group belongs to the earlier group of the same survivor, else to the one with which it shares
most memories, because a group whose survivor changed is still the same group. No two belong to the
same one: of groups that became one, all but one are gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from echoless.core.document import (
    Block,
    Gap,
    Heading,
    Span,
    Table,
    count,
    number,
    percent,
    quoted,
    say,
)
from echoless.core.model import Json
from echoless.core.versions import __version__
from echoless.workflows.audit.earlier_audit import EarlierAudit, EarlierGroup
from echoless.workflows.audit.namespace_report import Share
from echoless.workflows.audit.report import Report

_NAMED: Final = 5
"""Groups, pairs and namespaces that are named for each change."""

_FIGURES: Final = {
    "ratio": "share of visible memories",
    "redundant": "redundant copies",
    "groups": "groups that say the same",
    "wasted_tokens": "estimated tokens wasted in recall",
    "contradictions": "contradictions",
    "updates": "updates",
    "siblings": "siblings",
    "unsure": "unsure",
    "total": "memories",
    "tokens": "estimated tokens, all visible",
}
_GROUPS: Final[dict[GroupChange, str]] = {
    "new": "new",
    "larger": "larger",
    "smaller": "smaller",
    "changed": "of other members",
    "gone": "gone",
}


def compared_blocks(compared: AuditComparison, name: str) -> Iterator[Block]:
    """Yields what changed since an earlier audit.

    Args:
        compared: With the audit of today.
        name: Of the file with the earlier audit.
    """
    yield Heading(f"Compared with {name}")
    yield _headline(compared.share)
    for sentence in compared.notes:
        yield say(quoted(sentence), level=1)
    yield Gap()
    yield Table(
        ("figure", "before", "now", "change"),
        tuple(_row(f) for f in compared.figures if f.name == "ratio" or f.change != "same"),
        frozenset({1, 2}),
    )
    yield Gap()
    yield from _group_lines(compared)
    yield from _pair_lines("New", compared.new_pairs)
    yield from _pair_lines("No longer held", compared.gone_pairs)
    yield from _namespace_lines(compared)
    yield Gap()


def _headline(share: Figure) -> Block:
    """Returns the sentence that says whether it got better or worse."""
    now, before = percent(share.now), percent(share.before)
    if share.change == "same":
        return say(f"As before: {now} of what is visible is redundant.")
    word = Span("Worse", "bad") if share.change == "worse" else Span("Better", "good")
    return say(word, f": {now} of what is visible is redundant, before it was {before}.")


def _row(figure: Figure) -> tuple[str, ...]:
    """Returns the cells of a figure, with a sign and a word for its change."""
    shown = percent if figure.name == "ratio" else lambda value: number(int(value))
    difference = figure.now - figure.before
    amount = (
        f"{difference * 100:+.1f} points" if figure.name == "ratio" else f"{int(difference):+,}"
    )
    change = figure.change if figure.change == "same" else f"{amount}, {figure.change}"
    return (_FIGURES[figure.name], shown(figure.before), shown(figure.now), change)


def _group_lines(compared: AuditComparison) -> Iterator[Block]:
    """Yields how many groups changed, and the largest of them."""
    by_change = {
        kind: [group for group in compared.groups if group.change == kind] for kind in GROUP_CHANGES
    }
    amounts = [
        *((len(groups), _GROUPS[kind]) for kind, groups in by_change.items()),
        (compared.unchanged, "as before"),
    ]
    changes = [f"{number(amount)} {what}" for amount, what in amounts if amount]
    yield say(f"Groups: {', '.join(changes) or 'none before, none now'}.")
    for kind, groups in by_change.items():
        if groups:
            yield say(f"{_GROUPS[kind]}: {_listed(list(map(_group, groups)))}", level=1)


def _group(group: ChangedGroup) -> str:
    """Returns a group with its redundant copies."""
    if group.change == "gone":
        return f"{group.survivor} ({count(group.before, 'copy', 'copies')} before)"
    before = f", {number(group.before)} before" if group.change in {"larger", "smaller"} else ""
    return f"{group.survivor} ({count(group.now, 'copy', 'copies')}{before})"


def _pair_lines(title: str, pairs: Sequence[ComparedPair]) -> Iterator[Block]:
    """Yields updates and contradictions that only one of the two audits holds."""
    for verdict in dict.fromkeys(pair.verdict for pair in pairs):
        some = [f"{pair.a} and {pair.b}" for pair in pairs if pair.verdict == verdict]
        yield say(f"{title}: {count(len(some), verdict)}: {_listed(some)}")


def _namespace_lines(compared: AuditComparison) -> Iterator[Block]:
    """Yields the namespaces that got worse most, and how many got better."""
    worse = [each for each in compared.namespaces if each.change == "worse"]
    better = len(compared.namespaces) - len(worse)
    if worse:
        yield say(f"{count(len(worse), 'namespace')} got worse:")
    for each in worse[:_NAMED]:
        shares = f"{percent(each.now.ratio)}, before {percent(each.before.ratio)}"
        yield say(f"{each.namespace or '(none)'}: {shares}", level=1)
    if len(worse) > _NAMED:
        yield say(f"and {number(len(worse) - _NAMED)} more; --json has them", level=1)
    if better:
        yield say(f"{count(better, 'namespace')} got better.")


def _listed(names: Sequence[str]) -> str:
    """Returns the first few names and how many more there are."""
    left = len(names) - _NAMED
    more = f" and {number(left)} more; --json has them" if left > 0 else ""
    return f"{', '.join(names[:_NAMED])}{more}"


Change: TypeAlias = Literal["better", "worse", "same", "more", "fewer"]
GroupChange: TypeAlias = Literal["new", "larger", "smaller", "changed", "gone"]

GROUP_CHANGES: Final = tuple(_GROUPS)

COMPARED: Final = frozenset({"contradiction", "update"})
"""Verdicts of held pairs that are compared individually."""

DECIMALS: Final = 6
"""Of a share in `--json`; what differs beyond them is the same."""

_LESS_IS_BETTER: Final = frozenset(
    {"ratio", "redundant", "groups", "wasted_tokens", "contradictions", "updates"}
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of both audits.

    Attributes:
        name: Name of the figure in `audit --json`, where `counts` holds some of the figures.
        before: In the earlier audit.
        now: In this one.
    """

    name: str
    before: float
    now: float

    @property
    def change(self) -> Change:
        """Returns `better` or `worse` where less is better, else `more` or `fewer`; or `same`."""
        if self.now == self.before:
            return "same"
        rises = self.now > self.before
        if self.name in _LESS_IS_BETTER:
            return "worse" if rises else "better"
        return "more" if rises else "fewer"


@dataclass(frozen=True, slots=True)
class ChangedGroup:
    """A group that differs from the earlier audit.

    Attributes:
        survivor: The survivor now; of a group that is gone, the earlier one.
        change: Kind of the change; `changed` means other members, in the same number.
        before: Redundant copies in the earlier audit; 0 for a new group.
        now: Redundant copies now; 0 for one that is gone.
    """

    survivor: str
    change: GroupChange
    before: int
    now: int


@dataclass(frozen=True, slots=True, order=True)
class ComparedPair:
    """A pair that only one of the audits holds.

    Attributes:
        verdict: One of `COMPARED`.
        a: One memory; of an update the older one.
        b: The other.
    """

    verdict: str
    a: str
    b: str


@dataclass(frozen=True, slots=True)
class ChangedNamespace:
    """A namespace with another share of redundant copies.

    Attributes:
        namespace: Its name.
        before: Its share in the earlier audit; none of nothing where it did not exist.
        now: Its share now; none of nothing where it is gone.
    """

    namespace: str
    before: Share
    now: Share

    @property
    def change(self) -> Change:
        """Returns `better` or `worse`."""
        return "worse" if self.now.ratio > self.before.ratio else "better"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditComparison:
    """What changed between two audits.

    Attributes:
        earlier: The earlier audit.
        figures: The most telling first; the first is the share of redundant copies.
        groups: By kind of change (`GROUP_CHANGES`), the largest of each first.
        unchanged: Groups with the same members and survivor.
        new_pairs: Updates and contradictions that the earlier audit did not hold.
        gone_pairs: Pairs that are no longer held.
        namespaces: With another share; those that got worse most first.
        notes: Why the two may not be comparable.
    """

    earlier: EarlierAudit
    figures: tuple[Figure, ...]
    groups: tuple[ChangedGroup, ...]
    unchanged: int
    new_pairs: tuple[ComparedPair, ...]
    gone_pairs: tuple[ComparedPair, ...]
    namespaces: tuple[ChangedNamespace, ...]
    notes: tuple[str, ...]

    @property
    def share(self) -> Figure:
        """Returns the share of redundant copies, 0 to 1."""
        return self.figures[0]

    @property
    def is_worse(self) -> bool:
        """Returns whether the share of redundant copies rose."""
        return self.share.change == "worse"

    def to_json(self) -> dict[str, Json]:
        """Returns the comparison as in `audit --json`, under `compared`."""
        groups: dict[str, Json] = {
            kind: [
                {"survivor": each.survivor, "before": each.before, "now": each.now}
                for each in self.groups
                if each.change == kind
            ]
            for kind in GROUP_CHANGES
        }
        return {
            "store": self.earlier.store,
            "profile": self.earlier.profile,
            "echoless": self.earlier.release,
            "change": self.share.change,
            "figures": {
                each.name: {"before": each.before, "now": each.now, "change": each.change}
                for each in self.figures
            },
            "groups": {**groups, "unchanged": self.unchanged},
            "pairs": {"new": _pairs_json(self.new_pairs), "gone": _pairs_json(self.gone_pairs)},
            "namespaces": [
                {
                    "namespace": each.namespace,
                    "before": round(each.before.ratio, DECIMALS),
                    "now": round(each.now.ratio, DECIMALS),
                    "change": each.change,
                }
                for each in self.namespaces
            ],
            "notes": list(self.notes),
        }


def _pairs_json(pairs: Collection[ComparedPair]) -> list[Json]:
    """Returns pairs as in `--json`."""
    return [{"a": pair.a, "b": pair.b, "verdict": pair.verdict} for pair in pairs]


def compare_audits(report: Report, earlier: EarlierAudit) -> AuditComparison:
    """Returns what changed since an earlier audit; pure.

    Args:
        report: The audit of today.
        earlier: Audit that `audit --json` wrote.
    """
    groups, unchanged = _groups(report, earlier)
    now = _pairs((pair.a, pair.b, pair.verdict) for pair in report.held)
    before = _pairs(earlier.held)
    return AuditComparison(
        earlier=earlier,
        figures=_figures(report, earlier),
        groups=groups,
        unchanged=unchanged,
        new_pairs=tuple(sorted(now[key] for key in now.keys() - before.keys())),
        gone_pairs=tuple(sorted(before[key] for key in before.keys() - now.keys())),
        namespaces=_namespaces(report.by_namespace, earlier.by_namespace),
        notes=tuple(_notes(report, earlier)),
    )


def _figures(report: Report, earlier: EarlierAudit) -> tuple[Figure, ...]:
    """Returns the figures of both audits."""
    before, now = (
        {
            **each.counts,
            "ratio": round(each.ratio, DECIMALS),
            "wasted_tokens": each.wasted_tokens,
            "tokens": each.tokens,
        }
        for each in (earlier, report)
    )
    return tuple(Figure(name, before[name], now[name]) for name in _FIGURES)


def _pairs(held: Iterable[tuple[str, str, str]]) -> dict[tuple[str, frozenset[str]], ComparedPair]:
    """Returns the pairs of a verdict in `COMPARED`, by the verdict and the ids in any order.

    Args:
        held: Of each pair a, b and the verdict.
    """
    return {
        (verdict, frozenset((a, b))): ComparedPair(verdict, a, b)
        for a, b, verdict in held
        if verdict in COMPARED
    }


def _groups(report: Report, earlier: EarlierAudit) -> tuple[tuple[ChangedGroup, ...], int]:
    """Returns the groups that changed, and how many did not."""
    now = {
        group.survivor: EarlierGroup(group.survivor, tuple(sorted(m.id for m in group.members)))
        for group in report.groups
    }
    before = {group.survivor: group for group in earlier.groups}
    matched = _matched(now, before)
    changed = [
        ChangedGroup(id_, *_group_change(was, group))
        for id_, group in now.items()
        if (was := before[matched[id_]] if id_ in matched else None) != group
    ]
    taken = set(matched.values())
    changed += [
        ChangedGroup(id_, "gone", len(group.members), 0)
        for id_, group in before.items()
        if id_ not in taken
    ]
    changed.sort(key=lambda g: (GROUP_CHANGES.index(g.change), -max(g.before, g.now), g.survivor))
    return tuple(changed), len(now) - sum(each.change != "gone" for each in changed)


def _matched(now: Mapping[str, EarlierGroup], before: Mapping[str, EarlierGroup]) -> dict[str, str]:
    """Returns the earlier group of each group, by survivor: the same survivor, else most shared."""
    survivors = {id_: survivor for survivor, group in before.items() for id_ in group.ids}
    shared = Counter(
        (survivor, survivors[id_])
        for survivor, group in now.items()
        for id_ in group.ids
        if id_ in survivors
    )
    matched: dict[str, str] = {}
    taken: set[str] = set()
    order = sorted(shared, key=lambda pair: (pair[0] != pair[1], -shared[pair], pair))
    for survivor, other in order:
        if survivor not in matched and other not in taken:
            matched[survivor] = other
            taken.add(other)
    return matched


def _group_change(before: EarlierGroup | None, now: EarlierGroup) -> tuple[GroupChange, int, int]:
    """Returns what happened to a group, and its redundant copies before and now."""
    if before is None:
        return "new", 0, len(now.members)
    sizes = len(before.members), len(now.members)
    if sizes[0] == sizes[1]:
        return "changed", *sizes
    return "larger" if sizes[1] > sizes[0] else "smaller", *sizes


def _namespaces(
    now: Mapping[str, Share], before: Mapping[str, Share]
) -> tuple[ChangedNamespace, ...]:
    """Returns the namespaces with another share, those that got worse most first."""
    nothing = Share(0, 0)
    changed = [
        ChangedNamespace(name, before.get(name, nothing), now.get(name, nothing))
        for name in now.keys() | before.keys()
    ]
    differing = [each for each in changed if each.before.ratio != each.now.ratio]
    return tuple(sorted(differing, key=lambda e: (e.before.ratio - e.now.ratio, e.namespace)))


def _notes(report: Report, earlier: EarlierAudit) -> Iterator[str]:
    """Yields why the two audits may not be comparable."""
    if earlier.store != report.url:
        yield f"The earlier audit is of {earlier.store}, this one of {report.url}."
    differing = list(_differences(report, earlier))
    yield from differing
    if differing:
        yield "So a change may come from that, and not from the memories."


def _differences(report: Report, earlier: EarlierAudit) -> Iterator[str]:
    """Yields the differences between the settings of the two audits."""
    if earlier.profile != report.profile:
        yield f"The profile was {earlier.profile}, it is {report.profile} now."
    if not earlier.settings:
        yield "The earlier audit does not say with which settings it was made."
    elif earlier.settings.get("digest") != report.settings.get("digest"):
        names = [name for name in report.settings if name != "digest"]
        others = [
            f"{name}: {_value(earlier.settings.get(name))} before, "
            f"{_value(report.settings[name])} now"
            for name in names
            if earlier.settings.get(name) != report.settings[name]
        ]
        if others:
            yield f"Settings differ: {'; '.join(others)}."
        elif earlier.profile == report.profile:
            yield "A setting differs that the audits do not name."
    if earlier.release and earlier.release != __version__:
        yield f"The earlier audit was made by echoless {earlier.release}, this is {__version__}."


def _value(value: Json) -> str:
    """Returns the value of a setting for a sentence."""
    if value is None:
        return "not set"
    if isinstance(value, Mapping):
        return ", ".join(name if each is None else f"{name}={each}" for name, each in value.items())
    return str(value)

"""Comparison of an audit with an earlier one as blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

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
from echoless.workflows.audit.audit_comparison import (
    GROUP_CHANGES,
    AuditComparison,
    ChangedGroup,
    ComparedPair,
    Figure,
    GroupChange,
)

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
    match group.change:
        case "new" | "changed":
            return f"{group.survivor} ({count(group.now, 'copy', 'copies')})"
        case "gone":
            return f"{group.survivor} ({count(group.before, 'copy', 'copies')} before)"
        case "larger" | "smaller":
            now = count(group.now, "copy", "copies")
            return f"{group.survivor} ({now}, {number(group.before)} before)"


def _pair_lines(title: str, pairs: Sequence[ComparedPair]) -> Iterator[Block]:
    """Yields updates and contradictions that one audit holds and the other does not."""
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

"""A plan and a run as a notebook shows them.

A plan holds the beginnings of texts, from which parts of secrets further on cannot be learned; so
it is shown without reasons that quote single words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from echoless.core.html_fragment import (
    LEGEND,
    beginning,
    difference,
    document,
    grid,
    listing,
    paragraph,
    passage,
    reason,
    word,
)
from echoless.core.wording import count, number
from echoless.execution.actions import Action, Member

if TYPE_CHECKING:
    from echoless.execution.executor import Run
    from echoless.execution.plan import Plan

ACTIONS: Final = 10
"""Actions that are shown, in the order of the plan."""

_EFFECTS: Final = {
    "mark": "hidden behind a survivor",
    "merge": "merged into a survivor, then hidden",
    "delete": "merged into a survivor, then removed",
}


def plan_html(plan: Plan) -> str:
    """Returns what a plan would do as HTML."""
    groups = count(plan.counts["groups"], "group")
    actions = plan.actions[:ACTIONS]
    left = len(plan.actions) - len(actions)
    return document(
        paragraph(f"<strong>Plan for {groups}.</strong> Nothing is written yet."),
        _effects(plan.counts, "memories that would be"),
        paragraph(LEGEND) if actions else "",
        listing(map(_action, actions), numbered=True),
        paragraph(f"{count(left, 'more action')} in <code>actions</code>.") if left else "",
    )


def run_html(run: Run) -> str:
    """Returns what a run did as HTML, with what was refused and how to go back."""
    refused = [
        f"Refused: {', '.join(map(word, each.ids))}: {reason(each.reason)}" for each in run.refused
    ]
    failed = [
        f"Failed: {', '.join(map(word, each.ids))}: {reason(each.reason)}" for each in run.failed
    ]
    recovered = [f"Brought to an end first: {word(each)}" for each in run.recovered]
    return document(
        paragraph(f"<strong>Run {word(run.id)}</strong>, {count(run.counts['groups'], 'group')}."),
        _effects(run.counts, "memories that are now"),
        listing([*refused, *failed, *recovered]),
        paragraph(f"To go back: <code>undo(store, {reason(repr(run.id))})</code>"),
    )


def _effects(counts: Mapping[str, int], title: str) -> str:
    """Returns a table of the memories that change, by kind of action."""
    rows = [(effect, number(counts[kind])) for kind, effect in _EFFECTS.items() if counts[kind]]
    return grid((title, "number"), rows) or paragraph("No memory changes.")


def _action(action: Action) -> str:
    """Returns an action: the survivor, then the members with what differs."""
    items = beginning(action.members, lambda member: _member(action, member))
    if action.rewrite is not None:
        by = f" by {reason(action.rewrite.by)}" if action.rewrite.by else ""
        items.append(f"new text{by}: {passage(action.rewrite.content)}")
    if action.gains:
        items.append(f"takes over: {', '.join(map(reason, action.gains))}")
    return (
        f"{action.kind}: <strong>keep {word(action.survivor)}</strong> ({reason(action.why)})<br>"
        f"{passage(action.preview)}{listing(items)}"
    )


def _member(action: Action, member: Member) -> str:
    """Returns a member of an action."""
    similarity = "" if member.similarity is None else f", similarity {member.similarity:.3f}"
    verdict = reason(member.verdict or "joined by a chain")  # a plan file is foreign
    words = difference(action.preview, member.preview)
    return f"{word(member.id)}: {verdict}{similarity}<br>{words}"

"""Makes pairs of work that is planned and work that is done.

A note that begins with a verb of work is told again as done or as planned. Two tellings of one kind
are the same; work that is planned and work that is done are two states of one thing.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Final

from training.arranged import Pair

VERBS: Final = (
    (("add", "added"), ("introduce", "introduced"), ("implement", "implemented")),
    (("fix", "fixed"), ("resolve", "resolved"), ("repair", "repaired")),
    (("remove", "removed"), ("delete", "deleted"), ("drop", "dropped")),
    (("create", "created"), ("build", "built")),
    (("improve", "improved"), ("enhance", "enhanced")),
    (("update", "updated"), ("revise", "revised")),
    (("refactor", "refactored"), ("restructure", "restructured")),
    (("verify", "verified"), ("check", "checked")),
    (("enable", "enabled"), ("turn on", "turned on"), ("switch on", "switched on")),
    (("disable", "disabled"), ("turn off", "turned off"), ("switch off", "switched off")),
    (("set up", "set up"), ("configure", "configured")),
    (("write", "wrote"),),
    (("test", "tested"),),
    (("document", "documented"),),
    (("move", "moved"), ("relocate", "relocated")),
    (("rename", "renamed"),),
    (("replace", "replaced"), ("swap", "swapped")),
    (("optimize", "optimized"), ("tune", "tuned")),
    (("validate", "validated"),),
    (("integrate", "integrated"), ("wire in", "wired in")),
    (("deploy", "deployed"), ("roll out", "rolled out")),
    (("migrate", "migrated"), ("port", "ported")),
    (("convert", "converted"),),
    (("merge", "merged"), ("combine", "combined")),
    (("install", "installed"),),
    (("extend", "extended"), ("expand", "expanded")),
    (("simplify", "simplified"),),
    (("investigate", "investigated"), ("look into", "looked into")),
    (("review", "reviewed"), ("go over", "went over")),
)
"""Verbs of one meaning: base form and past."""

DONE: Final = (
    "{Past} {rest}",
    "{Past} {rest}",
    "{Past} {rest}",
    "We {past} {rest}",
    "I {past} {rest}",
    "Done: {past} {rest}",
    "Just {past} {rest}",
    "Completed: {base} {rest}",
    "{Base} {rest} (done)",
    "{Base} {rest} — finished",
    "Already {past} {rest}",
)
PLANNED: Final = (
    "{Base} {rest}",
    "{Base} {rest}",
    "{Base} {rest}",
    "TODO: {base} {rest}",
    "Need to {base} {rest}",
    "Still need to {base} {rest}",
    "Next: {base} {rest}",
    "Plan to {base} {rest}",
    "Planned: {base} {rest}",
    "We should {base} {rest}",
    "We still have to {base} {rest}",
    "Next step is to {base} {rest}",
    "{Base} {rest} (not done yet)",
)

_OF: Final = {form: (group, verb) for group in VERBS for verb in group for form in verb}
_START: Final = re.compile(
    r"^(?P<marks>\W*)(?P<verb>"
    + "|".join(sorted((re.escape(form) for form in _OF), key=len, reverse=True))
    + r")\s+(?=\w|[`*\"'(])",
    re.IGNORECASE,
)


def work(texts: Sequence[str]) -> list[str]:
    """Returns the texts of one line that begin with a verb of work, not with a bold label."""
    return [
        text
        for text in texts
        if "\n" not in text
        and (start := _START.match(text))
        and text[start.end() :].count("**") % 2 == 0
    ]


def planned_or_done(text: str, draw: random.Random) -> Pair:
    """Returns two tellings of the work that a text names, of one kind or one of each.

    Args:
        text: One of `work`.
        draw: Chooses words and forms.

    Returns:
        Both tellings, whether a entails b, b entails a, and whether they conflict.

    Raises:
        ValueError: No verb of work begins the text.
    """
    start = _START.match(text)
    if start is None:
        raise ValueError(f"No verb of work begins this text: {text!r}")
    group, verb = _OF[start["verb"].lower()]
    rest = text[start.end() :].rstrip(" .")
    same = draw.random() < 0.5
    first = draw.choice((DONE, PLANNED))
    second = first if same else (PLANNED if first is DONE else DONE)

    def shown(forms: Sequence[str]) -> str:
        base, past = draw.choice(group) if draw.random() < 0.4 else verb
        sentence = draw.choice(forms).format(
            base=base, past=past, Base=base.capitalize(), Past=past.capitalize(), rest=rest
        )
        return sentence + draw.choice(("", "", "."))

    return (shown(first), shown(second), *((1, 1, 0) if same else (0, 0, 1)))

"""echoless: deduplication for the memory of AI agents.

Example:
    ```
    from echoless import apply, find, open_store, plan, undo

    with open_store("sqlite:///agent.db") as store:
        found = find(store)              # reads only
        preview = plan(found)            # still nothing written
        run = apply(store, preview)      # marks duplicates, keeps every record
        undo(store, run.id)              # as it was
    ```
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from echoless.applying import Refusal, Run, apply
    from echoless.audited import audit_store
    from echoless.auditing import Report, audit
    from echoless.checking import Health, Problem, check
    from echoless.condensing import Condensed, plan_consolidation
    from echoless.consolidating import Consolidation, Offer, consolidate
    from echoless.errors import EcholessError
    from echoless.findings import Findings
    from echoless.groups import Group, Membership
    from echoless.model import (
        Contradiction,
        Difference,
        DifferenceKind,
        Distinct,
        Duplicate,
        Evidence,
        Judged,
        Link,
        Memory,
        Provenance,
        Related,
        Sibling,
        Subsumes,
        Unsure,
        Update,
        Vector,
        Verdict,
    )
    from echoless.pipeline import find, plan
    from echoless.planning import Plan, read_plan, write_plan
    from echoless.remembering import (
        Admitted,
        AlreadyKnown,
        Guard,
        Match,
        NeedsReview,
        Remembered,
        Updates,
        remember,
    )
    from echoless.searching import Answer, Hit, search, similar
    from echoless.settings import Choices, Settings, layered, resolve
    from echoless.stores import Scope, Store, open_store
    from echoless.transport import backup, export, import_into, transfer
    from echoless.undoing import Undone, history, keep_both, purge, undo
    from echoless.uniting import Merged, merge_memories, plan_merge

__all__ = [
    "Admitted",
    "AlreadyKnown",
    "Answer",
    "Choices",
    "Condensed",
    "Consolidation",
    "Contradiction",
    "Difference",
    "DifferenceKind",
    "Distinct",
    "Duplicate",
    "EcholessError",
    "Evidence",
    "Findings",
    "Group",
    "Guard",
    "Health",
    "Hit",
    "Judged",
    "Link",
    "Match",
    "Membership",
    "Memory",
    "Merged",
    "NeedsReview",
    "Offer",
    "Plan",
    "Problem",
    "Provenance",
    "Refusal",
    "Related",
    "Remembered",
    "Report",
    "Run",
    "Scope",
    "Settings",
    "Sibling",
    "Store",
    "Subsumes",
    "Undone",
    "Unsure",
    "Update",
    "Updates",
    "Vector",
    "Verdict",
    "apply",
    "audit",
    "audit_store",
    "backup",
    "check",
    "consolidate",
    "export",
    "find",
    "history",
    "import_into",
    "keep_both",
    "layered",
    "merge_memories",
    "open_store",
    "plan",
    "plan_consolidation",
    "plan_merge",
    "purge",
    "read_plan",
    "remember",
    "resolve",
    "search",
    "similar",
    "transfer",
    "undo",
    "write_plan",
]

_HOMES: Final = {
    "applying": ("Refusal", "Run", "apply"),
    "audited": ("audit_store",),
    "auditing": ("Report", "audit"),
    "checking": ("Health", "Problem", "check"),
    "condensing": ("Condensed", "plan_consolidation"),
    "consolidating": ("Consolidation", "Offer", "consolidate"),
    "errors": ("EcholessError",),
    "findings": ("Findings",),
    "groups": ("Group", "Membership"),
    "model": (
        "Contradiction",
        "Difference",
        "DifferenceKind",
        "Distinct",
        "Duplicate",
        "Evidence",
        "Judged",
        "Link",
        "Memory",
        "Provenance",
        "Related",
        "Sibling",
        "Subsumes",
        "Unsure",
        "Update",
        "Vector",
        "Verdict",
    ),
    "pipeline": ("find", "plan"),
    "planning": ("Plan", "read_plan", "write_plan"),
    "remembering": (
        "Admitted",
        "AlreadyKnown",
        "Guard",
        "Match",
        "NeedsReview",
        "Remembered",
        "Updates",
        "remember",
    ),
    "searching": ("Answer", "Hit", "search", "similar"),
    "settings": ("Choices", "Settings", "layered", "resolve"),
    "stores": ("Scope", "Store", "open_store"),
    "transport": ("backup", "export", "import_into", "transfer"),
    "undoing": ("Undone", "history", "keep_both", "purge", "undo"),
    "uniting": ("Merged", "merge_memories", "plan_merge"),
}
"""Where each public name lives. Names are loaded when first used, which keeps `import echoless` at
a few milliseconds; therefore no module may carry the name of a public function."""


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            value: object = getattr(import_module(f"echoless.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'echoless' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

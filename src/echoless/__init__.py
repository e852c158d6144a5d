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
from logging import NullHandler, getLogger
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from echoless.core.errors import EcholessError
    from echoless.core.groups import Group, Membership
    from echoless.core.model import (
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
    from echoless.core.overlaps import Overlap, SharedPassage
    from echoless.core.settings import Choices, Settings, layered, resolve
    from echoless.core.versions import __version__ as __version__
    from echoless.execution.executor import Refusal, Run, apply
    from echoless.execution.integrity import Health, Problem, check
    from echoless.execution.plan import Plan, read_plan, write_plan
    from echoless.execution.rollback import Undone, history, keep_both, purge, undo
    from echoless.execution.transfer import backup, export, import_into, transfer
    from echoless.ingest import (
        Admitted,
        AlreadyKnown,
        Guard,
        Match,
        NeedsReview,
        Remembered,
        Updates,
        remember,
    )
    from echoless.stores import Scope, Store, open_store
    from echoless.workflows.audit.between import Between, between_namespaces, between_stores
    from echoless.workflows.audit.incremental import audit_store
    from echoless.workflows.audit.report import Report, audit
    from echoless.workflows.consolidation.merge_pairs import Merged, merge_memories, plan_merge
    from echoless.workflows.dedupe.findings import Findings
    from echoless.workflows.dedupe.pipeline import find, plan
    from echoless.workflows.discovery.search import Discovery, ListedStore, discover
    from echoless.workflows.retrieval.search import Answer, Hit, search, similar
    from echoless.workflows.review.items import Offer
    from echoless.workflows.review.llm_plan import Condensed, plan_consolidation
    from echoless.workflows.review.pairs import Consolidation, consolidate

__all__ = [
    "Admitted",
    "AlreadyKnown",
    "Answer",
    "Between",
    "Choices",
    "Condensed",
    "Consolidation",
    "Contradiction",
    "Difference",
    "DifferenceKind",
    "Discovery",
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
    "ListedStore",
    "Match",
    "Membership",
    "Memory",
    "Merged",
    "NeedsReview",
    "Offer",
    "Overlap",
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
    "SharedPassage",
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
    "between_namespaces",
    "between_stores",
    "check",
    "consolidate",
    "discover",
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

getLogger("echoless").addHandler(NullHandler())  # a program decides itself what it shows

_HOMES: Final = {
    "execution.executor": ("Refusal", "Run", "apply"),
    "workflows.audit.between": ("Between", "between_namespaces", "between_stores"),
    "workflows.audit.incremental": ("audit_store",),
    "workflows.audit.report": ("Report", "audit"),
    "execution.integrity": ("Health", "Problem", "check"),
    "workflows.review.llm_plan": ("Condensed", "plan_consolidation"),
    "workflows.review.items": ("Offer",),
    "workflows.review.pairs": ("Consolidation", "consolidate"),
    "core.errors": ("EcholessError",),
    "workflows.dedupe.findings": ("Findings",),
    "core.groups": ("Group", "Membership"),
    "core.overlaps": ("Overlap", "SharedPassage"),
    "core.model": (
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
    "workflows.dedupe.pipeline": ("find", "plan"),
    "execution.plan": ("Plan", "read_plan", "write_plan"),
    "ingest": (
        "Admitted",
        "AlreadyKnown",
        "Guard",
        "Match",
        "NeedsReview",
        "Remembered",
        "Updates",
        "remember",
    ),
    "core.versions": ("__version__",),
    "workflows.discovery.search": ("Discovery", "ListedStore", "discover"),
    "workflows.retrieval.search": ("Answer", "Hit", "search", "similar"),
    "core.settings": ("Choices", "Settings", "layered", "resolve"),
    "stores": ("Scope", "Store", "open_store"),
    "execution.transfer": ("backup", "export", "import_into", "transfer"),
    "execution.rollback": ("Undone", "history", "keep_both", "purge", "undo"),
    "workflows.consolidation.merge_pairs": ("Merged", "merge_memories", "plan_merge"),
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

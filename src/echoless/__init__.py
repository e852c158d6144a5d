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

from echoless.applying import Refusal, Run, apply
from echoless.audit import Report, audit
from echoless.check import Health, Problem, check
from echoless.errors import EcholessError
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
from echoless.pipeline import Findings, find, plan
from echoless.planning import Plan, read_plan, write_plan
from echoless.search import Answer, Hit, search, similar
from echoless.settings import Choices, Settings, layered, resolve
from echoless.stores import Scope, Store, open_store
from echoless.transfer import backup, export, transfer
from echoless.undoing import Undone, history, keep_both, purge, undo

__all__ = [
    "Answer",
    "Choices",
    "Contradiction",
    "Difference",
    "DifferenceKind",
    "Distinct",
    "Duplicate",
    "EcholessError",
    "Evidence",
    "Findings",
    "Group",
    "Health",
    "Hit",
    "Judged",
    "Link",
    "Membership",
    "Memory",
    "Plan",
    "Problem",
    "Provenance",
    "Refusal",
    "Related",
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
    "Vector",
    "Verdict",
    "apply",
    "audit",
    "backup",
    "check",
    "export",
    "find",
    "history",
    "keep_both",
    "layered",
    "open_store",
    "plan",
    "purge",
    "read_plan",
    "resolve",
    "search",
    "similar",
    "transfer",
    "undo",
    "write_plan",
]

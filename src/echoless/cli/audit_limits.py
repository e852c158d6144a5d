"""Limits of `audit` on repetition, of which one is an earlier audit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from echoless.cli import render
from echoless.core.errors import UsageError
from echoless.core.optional import lazy_module
from echoless.workflows.audit.report import Report, share_limit

if TYPE_CHECKING:
    from echoless.workflows.audit import audit_comparison, earlier_audit
    from echoless.workflows.audit.audit_comparison import AuditComparison
    from echoless.workflows.audit.earlier_audit import EarlierAnswer
else:  # only --compare needs them
    audit_comparison = lazy_module("echoless.workflows.audit.audit_comparison")
    earlier_audit = lazy_module("echoless.workflows.audit.earlier_audit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When the exit code says that there is too much repetition, and the audit to compare with.

    Attributes:
        fail_over: Largest share that is allowed, as it was typed; None for any.
        compare: File with an earlier answer; None to compare with nothing.
        fail_worse: Whether the share may not have risen since.
    """

    fail_over: str | None
    compare: Path | None
    fail_worse: bool

    def check(self, *, every_store: bool) -> None:
        """Checks that the options fit together, and to what is audited.

        Args:
            every_store: Whether all stores get one report.

        Raises:
            UsageError: They do not.
        """
        if self.fail_worse and self.compare is None:
            raise UsageError("--fail-worse needs an earlier audit: add --compare OLD.json.")
        if self.compare is not None and every_store:
            raise UsageError("--compare and --all do not go together. Name the stores.")

    @property
    def share(self) -> float | None:
        """Returns the share of `fail_over`, 0 to 1.

        Raises:
            UsageError: It is none.
        """
        return None if self.fail_over is None else share_limit(self.fail_over)

    def earlier(self) -> EarlierAnswer | None:
        """Reads the earlier answer, if one was named.

        Raises:
            InputError: It cannot be read.
        """
        return None if self.compare is None else earlier_audit.read_earlier_answer(self.compare)

    def exceeded(self, report: Report, compared: AuditComparison | None) -> list[str]:
        """Returns why there is too much repetition in a store; empty where there is not."""
        limit, share = self.share, f"{report.ratio:.2%} is redundant"
        reasons = []
        if limit is not None and report.ratio > limit:
            reasons.append(f"{share}, more than the limit of {self.fail_over}.")
        if self.fail_worse and compared is not None and compared.is_worse:
            before = f"{compared.share.before:.2%}"
            reasons.append(f"{share}, and in {self.compare} it was {before}: it got worse.")
        return reasons


def compared_with(
    earlier: EarlierAnswer | None, report: Report, *, alone: bool
) -> AuditComparison | None:
    """Returns what changed since an earlier answer; None, and a note, where it has no such store.

    Args:
        earlier: None where nothing is compared.
        report: Of today.
        alone: Whether this is the only store of the command.

    Raises:
        InputError: It is the only store, and an answer about several does not name it.
    """
    if earlier is None:
        return None
    audit_then = earlier.of(report.url, alone=alone)
    if audit_then is None:
        render.note(f"{earlier.path} has no audit of {report.url}, so it is not compared.")
        return None
    return audit_comparison.compare_audits(report, audit_then)

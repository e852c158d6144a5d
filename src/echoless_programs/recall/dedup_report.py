"""The report of `recall dedup`, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Final

from echoless.core.model import Json, verdict_name
from echoless_programs.recall.deduplication import SHOWN, DedupPlan, DedupResult, TableCounts

_FIRST: Final = 3
NO_PROJECT: Final = "-"
_WHY_RETAINED: Final = {
    "loa_entries": "referenced by LoA lineage",
    "procedures": "named in source_learnings",
}
"""Kinds of the reasons of `RecallStore.retained`, by the table at their beginning."""


def lines(planned: DedupPlan, done: DedupResult | None) -> Iterator[str]:
    """Yields the lines of the report."""
    if not planned.options.execute:
        yield "[DRY RUN — no changes written]"
    elif planned.options.delete:
        yield "[EXECUTE + DELETE — destructive: duplicates will be removed]"
    else:
        yield "[EXECUTE — marking duplicates, non-destructive]"
    yield ""
    if planned.options.delete:
        yield "Recommended: run 'recall export --backup' before destructive dedup."
        yield ""
    for table in planned.tables:
        yield from _table(table, planned)
    yield ""
    yield from _comparison(planned)
    yield ""
    yield from _outcome(planned, done)


def _table(table: TableCounts, planned: DedupPlan) -> Iterator[str]:
    """Yields the counts of a table and its first planned duplicates."""
    verb = "would mark"
    if planned.options.execute:
        verb = "delete" if planned.options.delete else "mark"
    number = len(table.planned)
    asides = (
        (table.already_marked, "already marked"),
        (table.too_short, "too short"),
        (table.prior_survivors, "prior survivor(s) kept visible"),
        (table.held, "held"),
    )
    aside = ", ".join(f"{count} {what}" for count, what in asides if count)
    yield (
        f"{table.table}: scanned {table.scanned}, exact groups {table.exact_groups}, "
        f"semantic pairs {table.semantic_pairs}, {verb} {number}, "
        f"unchanged {table.unchanged}" + (f" ({aside})" if aside else "")
    )
    shown = []
    for each in table.planned:
        duplicate, survivor = (i.partition("#")[2] for i in (each.duplicate, each.survivor))
        evidence = f"[{each.reason} @ {each.similarity:.3f}]"
        shown.append(f"  #{duplicate} → survivor #{survivor} {evidence}")
    yield from _cut(shown, _FIRST)


def _cut(shown: Sequence[str], first: int, more: int = 0) -> Iterator[str]:
    """Yields the first lines, and how many are left out."""
    yield from shown[:first]
    left = len(shown) - first + more
    if left > 0:
        yield f"  ...and {left} more"


def _comparison(planned: DedupPlan) -> Iterator[str]:
    """Yields lines on the comparison of vectors, on held pairs, and on pairs of two tables."""
    if planned.skipped:
        yield f"Semantic pass: skipped — {planned.skipped}"
    else:
        yield f"Semantic pass: threshold {float(planned.options.threshold):g}"
    if planned.not_comparable:
        yield (
            f"Semantic pass: {planned.not_comparable} vector(s) not comparable "
            "(model or dimensions differ)"
        )
    for note in planned.findings.tally.notes:
        yield f"Semantic pass: {note}"
    if held := planned.held:
        yield f"Held for review: {len(held)} pair(s) at or above the threshold"
        yield from _cut(
            [f"  {each.a} ↔ {each.b} [{each.verdict.evidence.line()}]" for each in held], _FIRST
        )
    across = planned.cross_table
    yield (
        f"Cross-table (report-only, never acted on): {len(across.groups)} text match group(s), "
        f"{across.pairs} semantic pair(s)"
    )
    shown = [f"  {' ↔ '.join(ids)} [{p or NO_PROJECT}]" for ids, p in across.groups]
    shown += [f"  {a} ↔ {b} [{p or NO_PROJECT}]" for a, b, p, _ in across.closest]
    yield from _cut(shown, SHOWN, across.pairs - len(across.closest))


def _outcome(planned: DedupPlan, done: DedupResult | None) -> Iterator[str]:
    """Yields what the execution did, or how to execute after a dry run."""
    if done is None:
        if planned.planned:
            yield "Re-run with --execute to mark duplicates (non-destructive)."
            yield (
                "Marked duplicates are hidden from search; use 'recall search "
                "--include-duplicates' to see them."
            )
        else:
            yield "No duplicates found."
    elif planned.options.delete:
        yield from _cut([f"Kept {id_}: {why}" for id_, why in planned.spared], _FIRST)
        retained = ""
        if done.marked:  # in place of removed; the original's words for LoA
            reasons = Counter(
                _WHY_RETAINED.get(key.partition("#")[0], "knows more") for _, key in planned.spared
            )
            counts = [f"{count} {why}" for why, count in reasons.most_common()]
            why = next(iter(reasons)) if len(reasons) == 1 else ", ".join(counts)
            retained = f" ({done.marked} kept as marked{f' — {why}' if why else ''})"
        yield f"Deleted {done.deleted} duplicate(s){retained}."
    else:
        yield f"Marked {done.marked} duplicate(s). Records remain intact and recoverable."


def report_json(planned: DedupPlan, done: DedupResult | None) -> dict[str, Json]:
    """Returns the plan as JSON, with its options, findings and outcome."""
    options = planned.options
    mode = "dry-run" if not options.execute else "delete" if options.delete else "mark"
    return {
        "mode": mode,
        "database": planned.findings.url,
        "threshold": float(options.threshold),
        "tables": [{**asdict(table), "unchanged": table.unchanged} for table in planned.tables],
        "semantic": {"skipped": planned.skipped, "not_comparable": planned.not_comparable},
        "notes": list(planned.findings.tally.notes),
        "held": [
            {
                "a": each.a,
                "b": each.b,
                "verdict": verdict_name(each.verdict),
                "similarity": each.verdict.evidence.similarity,
                "evidence": each.verdict.evidence.line(),
            }
            for each in planned.held
        ],
        "cross_table": {
            "text_groups": [
                {"ids": list(ids), "project": project}
                for ids, project in planned.cross_table.groups
            ],
            "semantic_pairs": planned.cross_table.pairs,
            "closest": [
                {"a": a, "b": b, "project": project, "similarity": similarity}
                for a, b, project, similarity in planned.cross_table.closest
            ],
        },
        "plan": planned.plan.to_json(),
        "kept": [{"id": id_, "reason": why} for id_, why in planned.spared],
        "done": None
        if done is None
        else {
            "run": None if done.run is None else done.run.id,
            "marked": done.marked,
            "deleted": done.deleted,
            "errors": list(done.refused),
        },
    }

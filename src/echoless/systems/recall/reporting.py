"""The report of `recall dedup`, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from echoless.model import Json, Judged, verdict_name
from echoless.second_look import SecondLook
from echoless.systems.recall.crossing import SHOWN
from echoless.systems.recall.deduping import Done, Look, Planned, TableLook

_FIRST: Final = 3
NO_PROJECT: Final = "-"


def lines(look: Look, second: SecondLook, done: Done | None) -> Iterator[str]:
    """The report, line by line."""
    yield from _head(look)
    for table in look.tables:
        yield from _table(table, look)
    yield ""
    yield from _semantic(look)
    yield from _held(look.held)
    yield from _crossing(look)
    yield from second.lines()
    yield ""
    yield from _tail(look, done)


def _head(look: Look) -> Iterator[str]:
    if not look.wish.execute:
        yield "[DRY RUN — no changes written]"
    elif look.wish.delete:
        yield "[EXECUTE + DELETE — destructive: duplicates will be removed]"
    else:
        yield "[EXECUTE — marking duplicates, non-destructive]"
    yield ""
    if look.wish.delete:
        yield "Recommended: run 'recall export --backup' before destructive dedup."
        yield ""


def _table(table: TableLook, look: Look) -> Iterator[str]:
    verb = "would mark"
    if look.wish.execute:
        verb = "delete" if look.wish.delete else "mark"
    number = len(table.planned)
    asides = (
        (table.marked, "already marked"),
        (table.short, "too short"),
        (table.prior, "prior survivor(s) kept visible"),
        (table.held, "held"),
    )
    aside = ", ".join(f"{count} {what}" for count, what in asides if count)
    yield (
        f"{table.table}: scanned {table.scanned}, exact groups {table.exact_groups}, "
        f"semantic pairs {table.semantic_pairs}, {verb} {number}, "
        f"unchanged {table.scanned - number}" + (f" ({aside})" if aside else "")
    )
    yield from _cut([_planned(each) for each in table.planned], _FIRST)


def _planned(each: Planned) -> str:
    duplicate, survivor = (i.partition("#")[2] for i in (each.duplicate, each.survivor))
    return f"  #{duplicate} → survivor #{survivor} [{each.reason} @ {each.similarity:.3f}]"


def _cut(shown: Sequence[str], first: int, more: int = 0) -> Iterator[str]:
    yield from shown[:first]
    left = len(shown) - first + more
    if left > 0:
        yield f"  ...and {left} more"


def _semantic(look: Look) -> Iterator[str]:
    if look.skipped:
        yield f"Semantic pass: skipped — {look.skipped}"
    else:
        yield f"Semantic pass: threshold {float(look.wish.threshold):g}"
    if look.not_comparable:
        yield (
            f"Semantic pass: {look.not_comparable} vector(s) not comparable "
            "(model or dimensions differ)"
        )
    for note in look.findings.tally.notes:
        yield f"Semantic pass: {note}"


def _held(held: Sequence[Judged]) -> Iterator[str]:
    if held:
        yield f"Held for review: {len(held)} pair(s) at or above the threshold"
        yield from _cut(
            [f"  {each.a} ↔ {each.b} [{each.verdict.evidence.line()}]" for each in held], _FIRST
        )


def _crossing(look: Look) -> Iterator[str]:
    crossing = look.crossing
    yield (
        f"Cross-table (report-only, never acted on): {len(crossing.groups)} text match group(s), "
        f"{crossing.pairs} semantic pair(s)"
    )
    shown = [f"  {' ↔ '.join(ids)} [{p or NO_PROJECT}]" for ids, p in crossing.groups]
    shown += [f"  {a} ↔ {b} [{p or NO_PROJECT}]" for a, b, p, _ in crossing.closest]
    yield from _cut(shown, SHOWN, crossing.pairs - len(crossing.closest))


def _tail(look: Look, done: Done | None) -> Iterator[str]:
    if done is None:
        if look.planned:
            yield "Re-run with --execute to mark duplicates (non-destructive)."
            yield (
                "Marked duplicates are hidden from search; use 'recall search "
                "--include-duplicates' to see them."
            )
        else:
            yield "No duplicates found."
    elif look.wish.delete:
        yield from _cut([f"Kept {id_}: {why}" for id_, why in look.kept], _FIRST)
        yield f"Deleted {done.deleted} duplicate(s){_kept(look, done)}."
    else:
        yield f"Marked {done.marked} duplicate(s). Records remain intact and recoverable."


def _kept(look: Look, done: Done) -> str:
    """How many rows were marked in place of removed, and why: in the original's words for LoA."""
    if not done.marked:
        return ""
    reasons = Counter(_sort(why) for _, why in look.kept)
    told = [f"{count} {why}" for why, count in reasons.most_common()]
    why = next(iter(reasons)) if len(reasons) == 1 else ", ".join(told)
    return f" ({done.marked} kept as marked — {why})" if why else f" ({done.marked} kept as marked)"


def _sort(reason: str) -> str:
    """The sort of a reason of `RecallStore.retained`."""
    if reason.startswith("loa_entries#"):
        return "referenced by LoA lineage"
    if reason.startswith("procedures#"):
        return "named in source_learnings"
    return "knows more"


# ------------------------------------------------------------------ JSON


def report_json(look: Look, second: SecondLook, done: Done | None) -> dict[str, Json]:
    """The plan object with what it was made from, and what came of it."""
    wish = look.wish
    mode = "dry-run" if not wish.execute else "delete" if wish.delete else "mark"
    return {
        "mode": mode,
        "database": look.findings.url,
        "threshold": float(wish.threshold),
        "tables": [_table_json(table) for table in look.tables],
        "semantic": {"skipped": look.skipped, "not_comparable": look.not_comparable},
        "notes": list(look.findings.tally.notes),
        "held": [
            {
                "a": each.a,
                "b": each.b,
                "verdict": verdict_name(each.verdict),
                "similarity": each.verdict.evidence.similarity,
                "evidence": each.verdict.evidence.line(),
            }
            for each in look.held
        ],
        "cross_table": {
            "text_groups": [
                {"ids": list(ids), "project": project} for ids, project in look.crossing.groups
            ],
            "semantic_pairs": look.crossing.pairs,
            "closest": [
                {"a": a, "b": b, "project": project, "similarity": similarity}
                for a, b, project, similarity in look.crossing.closest
            ],
        },
        "second_look": second.to_json(),
        "plan": look.plan.to_json(),
        "kept": [{"id": id_, "reason": why} for id_, why in look.kept],
        "done": None if done is None else _done_json(done),
    }


def _table_json(table: TableLook) -> dict[str, Json]:
    return {
        "table": table.table,
        "scanned": table.scanned,
        "exact_groups": table.exact_groups,
        "semantic_pairs": table.semantic_pairs,
        "planned": [
            {
                "duplicate": each.duplicate,
                "survivor": each.survivor,
                "reason": each.reason,
                "similarity": each.similarity,
            }
            for each in table.planned
        ],
        "unchanged": table.scanned - len(table.planned),
        "already_marked": table.marked,
        "too_short": table.short,
        "prior_survivors": table.prior,
        "held": table.held,
    }


def _done_json(done: Done) -> dict[str, Json]:
    return {
        "run": None if done.run is None else done.run.id,
        "marked": done.marked,
        "deleted": done.deleted,
        "errors": list(done.refused),
    }

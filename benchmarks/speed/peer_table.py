"""The table of the whole runs: what they cost beside what they found and destroyed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.speed.peer_truth import PLANTED
from benchmarks.speed.side_by_side import Line, table

SETS = {
    "English": "written pairs, English",
    "five other languages": "written pairs, five other languages",
    "real notes": "real notes",
    "planted": "planted",
}
"""Columns by set, in this order."""


def best_thresholds(qualities: Mapping[float, Line], own: Line | None) -> dict[float, str]:
    """Returns thresholds chosen by the truth itself, and why; empty where there is one only.

    The best has the highest F1 over all sets together: pairs that say the same and are in one group
    against labelled look-alikes in one group and memories of the mass wrongly removed. The other is
    the lowest that merges, in the mean over the sets, no larger share of look-alikes than echoless.
    """
    if len(qualities) < 2:
        return {}
    best = max(qualities, key=lambda threshold: (_f1(qualities[threshold]), threshold))
    chosen = {best: "best on this truth"}
    if own is not None:
        harmless = [
            threshold
            for threshold in sorted(qualities)
            if _merged(qualities[threshold]) <= _merged(own)
        ]
        for threshold in harmless[:1] or [max(qualities)]:
            why = "merges as few look-alikes as echoless" if harmless else "the highest tried"
            chosen[threshold] = "; ".join(filter(None, (chosen.get(threshold), why)))
    return chosen


def _f1(line: Line) -> float:
    hit, same = (sum(share[place] for share in line["same"].values()) for place in (0, 1))
    wrong = sum(share[0] for of, share in line["merged"].items() if of != PLANTED)
    return float(2 * hit / (hit + wrong + line["wrongly"] + same))


def _merged(line: Line) -> float:
    shares: list[float] = [hit / of for hit, of in line["merged"].values() if of]
    return sum(shares) / len(shares)


def body(lines: Sequence[Line]) -> str:
    """The whole report in Markdown."""
    sizes = list(dict.fromkeys(line["n"] for line in lines))
    return "\n\n".join([_INTRODUCTION, *(_of_size(size, lines) for size in sizes), _parts(lines)])


_INTRODUCTION = """\
Whole runs on the same texts: read, encode, join, group, write, caches empty, start-up included.
Of echoless that is the plan and its application. *found*: pairs that say the same and end in one
group. *merged*: look-alikes (another value, date, port, version, name, state, a negation) that end
in one group, so that one of them is lost. Sets: pairs written by others after the judge was
finished, whose texts nothing was fitted on (`benchmarks/never_seen`); labelled pairs of real notes
(looked at while thresholds were set); copies in another dressing and look-alikes planted in the
mass (`benchmarks/speed/peer_truth.py`). *wrongly*: memories removed from a mass in which no two say
the same, or hidden behind it. Rows of one tool at several thresholds share one run. In brackets:
times the first row of echoless.

*undo*: of echoless, undoing the run gave the file back byte for byte, which was checked. SemHash
and the script write a new file and no record why a memory is not in it. mcp-memory-service refuses
a duplicate when it is stored, so its text is nowhere. mem0 leaves out equal texts only; an LLM,
which it asks for the rest, is not part of this run (`benchmarks/speed/peer_tools/mem0_add.py`).

Thresholds: the default of the tool; of the script .85, and beside it .75, the default of
`community_detection` in sentence-transformers, and .95. Two more were chosen by the truth itself,
in favour of the tool: the best F1 over all sets together (look-alikes merged and memories removed
wrongly are its errors), and the lowest that merges no more look-alikes than echoless."""


def _of_size(size: int, lines: Sequence[Line]) -> str:
    some = [line for line in lines if line["n"] == size]
    base = next(
        (line for line in some if line["method"].startswith("echoless") and "same" in line), None
    )
    used = [of for of in SETS if any(of in line.get("same", {}) for line in some)]
    known = next((line for line in some if "same" in line), None)
    head = [
        "method", "threshold", "wall s", "cpu s", "peak MB",
        *(f"{SETS[of]}: found, merged" for of in used), "removed", "wrongly", "undo",
    ]  # fmt: skip
    rows = [[*_costs(line, base), *_figures(line, used)] for line in some]
    counts = [
        f"{SETS[of]} {known['same'][of][1]:,} and {known['merged'][of][1]:,}"
        for of in used
        if known
    ]
    pairs = f"Pairs that say the same, and look-alikes: {'; '.join(counts)}."
    return f"## {size:,} memories\n\n{table(head, rows)}\n\n{pairs}"


def _costs(line: Line, base: Line | None) -> list[str]:
    threshold = f"{line['threshold']:g}" if line.get("threshold") is not None else ""
    threshold += f" ({line['chosen']})" if line.get("chosen") else ""
    if "failed" in line:
        return [line["method"], threshold, "", "", ""]
    name, peak = str(line.get("tool", line["method"])), f"{line['peak_mb']:,}"
    if "estimate_s" in line:
        return [name, threshold, f"about {_times('wall_s', line['estimate_s'], base)}", "", peak]
    wall, cpu = (_times(of, line[of], base) for of in ("wall_s", "cpu_s"))
    return [name, threshold, wall, cpu, peak]


def _times(of: str, seconds: float, base: Line | None) -> str:
    return f"{seconds:,.1f} ({seconds / base[of]:.2f})" if base else f"{seconds:,.1f}"


def _figures(line: Line, used: Sequence[str]) -> list[str]:
    if "failed" in line:
        return [f"did not run: {line['failed']}".replace("|", "/"), *[""] * (len(used) + 2)]
    if "estimate_s" in line:
        cut = f"cut after {line['sample']:,} memories"
        return [cut, *[""] * (len(used) + 1), line["undo"]]
    shares = [f"{_percent(line['same'][of])}, {_percent(line['merged'][of])}" for of in used]
    return [*shares, f"{line['removed']:,}", f"{line['wrongly']:,}", line["undo"]]


def _percent(share: Sequence[int]) -> str:
    hit, of = share
    return f"{100 * hit / of:.1f} %" if of else "-"


def _parts(lines: Sequence[Line]) -> str:
    """Of each run once, at its default threshold."""
    rows = []
    for line in lines:
        if "parts" not in line or not line.get("chosen", "default").startswith("default"):
            continue
        parts = ", ".join(f"{name} {seconds:,.1f}" for name, seconds in line["parts"].items())
        name, model = str(line.get("tool", line["method"])), str(line.get("model", ""))
        rows.append([f"{line['n']:,}", name, model, parts])
    head = ("memories", "method", "model", "wall seconds by part")
    return f"## Where the time goes\n\n{table(head, rows)}"

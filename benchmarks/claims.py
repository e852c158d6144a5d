"""Findings of a reader in long notes, and what an audit names: `python -m benchmarks.claims`.

`--gold` names JSON lines of findings: `repo`, `kind` (`copy`, `holds`, `update`, `contradiction`,
`retired`, `index`, `trap`), `sure`, and for `a` and `b` the `path` and the `line` (or lines).
`--folders` names the folder that holds each repository under the last part of its name. A finding
counts as named where an audit tells a pair of claims that begin in its two lines. Nothing of the
texts is stored: they belong to others.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import Cost, echoless, keep

Line = tuple[str, int]


class Named(NamedTuple):
    """What an audit named of one repository.

    Attributes:
        told: Pairs of claims by verdict.
        found: Sure findings that were named, by kind.
        all: Sure findings, by kind.
        traps: Traps whose two lines were told as the same.
        cost: Of the audit.
    """

    told: Counter[str]
    found: Counter[str]
    all: Counter[str]
    traps: int
    cost: Cost


def lines(side: Mapping[str, Any]) -> set[Line]:
    """The lines of one side of a finding."""
    some = side["line"] if isinstance(side["line"], list) else [side["line"]]
    return {(side["path"], line) for line in some}


def told(answer: Mapping[str, Any], folder: str) -> Iterator[tuple[str, Line, Line]]:
    """The claims that an audit tells, as verdict and two lines of files."""
    for claims in answer.get("claims", ()):
        a, b = ((claims[side].partition("#")[0], claims[f"line_{side}"]) for side in "ab")
        yield claims["verdict"], (f"{folder}{a[0]}", a[1]), (f"{folder}{b[0]}", b[1])


def named(place: Path, gold: Iterable[Mapping[str, Any]]) -> Named:
    """What an audit of the memory of a repository names."""
    some = list(gold)
    folder = Path(some[0]["a"]["path"]).parent
    with tempfile.TemporaryDirectory() as own:
        home = {"XDG_CACHE_HOME": own, "XDG_STATE_HOME": own, "XDG_CONFIG_HOME": own}
        cost = echoless("audit", str(place / folder), "--json", environment=home)
    answer = json.loads(cost.output[cost.output.index("{") :])
    pairs = list(told(answer, f"{folder}/"))
    found, all_, traps = Counter[str](), Counter[str](), 0
    for each in some:
        if not each.get("b"):
            continue
        a, b = lines(each["a"]), lines(each["b"])
        hits = [v for v, x, y in pairs if (x in a and y in b) or (x in b and y in a)]
        if each["kind"] == "trap":
            traps += bool({"duplicate", "subsumes"} & {*hits})
        elif each["sure"]:
            all_[each["kind"]] += 1
            found[each["kind"]] += bool(hits)
    return Named(Counter(verdict for verdict, _, _ in pairs), found, all_, traps, cost)


def main() -> None:
    """Audit, count and keep."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gold", type=Path, required=True)
    parser.add_argument("--folders", type=Path, required=True)
    chosen = parser.parse_args()
    by_repo: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for line in chosen.gold.read_text("utf-8").splitlines():
        row = json.loads(line)
        by_repo[row["repo"].rpartition("/")[2]].append(row)
    rows = []
    for name, gold in sorted(by_repo.items()):
        each = named(chosen.folders / name, gold)
        kinds = ", ".join(f"{k} {each.found[k]} of {n}" for k, n in sorted(each.all.items()))
        verdicts = ", ".join(f"{n} {verdict}" for verdict, n in each.told.most_common())
        whole = f"{each.found.total()} of {each.all.total()}"
        rows.append(f"| {whole} | {kinds} | {verdicts} | {each.traps} | {each.cost.cpu:.0f} |")
        print(name, rows[-1], flush=True)
    body = (
        "One row for each memory. Named are sure findings of a reader of which an audit tells both "
        "lines. Traps are alike and must both stay; counted are those told as the same.\n\n"
        "| named | by kind | told | traps | s |\n| --- | --- | --- | --- | --- |\n"
        + "\n".join(rows)
    )
    command = "python -m benchmarks.claims --gold FILE --folders FOLDER"
    keep("claims", "Claims of real notes", command, body + "\n")


if __name__ == "__main__":
    main()

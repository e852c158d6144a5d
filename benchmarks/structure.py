"""How the source is built: packages, floors, circles, sizes of files and functions.

`python -m benchmarks.structure [--source src/echoless] [--before FOLDER] [--keep]`

Everything is read from the syntax trees; nothing is imported. A floor of a package is one more than
the highest floor it imports from; packages of a circle share one floor, and the circle is counted.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.measure import keep

ROOT: Final = "echoless"
SOURCE: Final = Path(__file__).parents[1] / "src" / ROOT
MOST_PARAMETERS: Final = 8
"""Parameters from which a function is counted as one with many."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Edges = Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Module:
    """One file and its syntax tree.

    Attributes:
        name: Dotted, with the root package.
        text: Source.
        tree: Of the source.
    """

    name: str
    text: str
    tree: ast.Module

    @property
    def functions(self) -> list[Function]:
        """All functions and methods."""
        return [node for node in ast.walk(self.tree) if isinstance(node, Function)]


def modules_of(source: Path) -> dict[str, Module]:
    """Returns the modules of a package by dotted name.

    Args:
        source: Folder of the root package.
    """
    found = {}
    for path in sorted(source.rglob("*.py")):
        parts = (ROOT, *path.relative_to(source).with_suffix("").parts)
        name = ".".join(parts).removesuffix(".__init__")
        text = path.read_text("utf-8")
        found[name] = Module(name, text, ast.parse(text))
    return found


def imported(module: Module, known: Mapping[str, Module]) -> Iterator[str]:
    """Yields the modules of the root package that a module names in imports, anywhere in it."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            whole = name if name in known else name.rpartition(".")[0]
            if whole in known and whole != module.name:
                yield whole


def part(name: str, depth: int) -> str:
    """Returns the first names of a dotted name below the root: its package at a depth."""
    return ".".join(name.split(".")[1 : depth + 1]) or ROOT


def edges_between(modules: Mapping[str, Module], within: str = ROOT) -> Edges:
    """Returns which parts directly below a package import which other ones.

    Args:
        modules: Of the whole source.
        within: Dotted name of the package whose parts count.
    """
    depth = within.count(".") + 1
    found: dict[str, set[str]] = defaultdict(set)
    for module in modules.values():
        if not module.name.startswith(f"{within}."):
            continue
        here = part(module.name, depth)
        found[here] |= set()
        for other in imported(module, modules):
            if other.startswith(f"{within}."):
                found[here].add(part(other, depth))
    return {name: frozenset(others - {name}) for name, others in found.items()}


def circles(edges: Edges) -> list[frozenset[str]]:
    """Returns the strongly connected parts of more than one: Tarjan's algorithm (1972)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    out: list[frozenset[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in sorted(edges.get(name, ())):
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            at = stack.index(name)
            if len(stack) - at > 1:
                out.append(frozenset(stack[at:]))
            del stack[at:]

    for name in sorted(edges):
        if name not in order:
            visit(name)
    return out


def floors(edges: Edges) -> dict[str, int]:
    """Returns the floor of each part, from 1; the parts of one circle share theirs."""
    ring = {name: circle for circle in circles(edges) for name in circle}
    found: dict[str, int] = {}

    def floor(name: str) -> int:
        if name not in found:
            circle = ring.get(name, frozenset({name}))
            below = {other for each in circle for other in edges.get(each, ())} - circle
            height = 1 + max((floor(other) for other in below), default=0)
            found.update(dict.fromkeys(circle, height))
        return found[name]

    for name in edges:
        floor(name)
    return found


def percentile(values: Sequence[int], share: float) -> int:
    """Returns the smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-int(share * len(ordered)) // 1) - 1))]


def lines_of(function: Function) -> int:
    """Returns the lines of a function without its docstring."""
    whole = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        whole -= (first.end_lineno or first.lineno) - first.lineno + 1
    return whole


def parameters(function: Function) -> int:
    """Returns how many parameters a caller may give, without `self` and `cls`."""
    told = function.args
    names = [each.arg for each in (*told.posonlyargs, *told.args, *told.kwonlyargs)]
    return len([name for name in names if name not in {"self", "cls"}])


def inner_imports(module: Module) -> int:
    """Returns the import statements inside functions."""
    found = {
        id(node)
        for function in module.functions
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    return len(found)


def helpers(modules: Mapping[str, Module]) -> tuple[int, list[int]]:
    """Returns the count of private functions, and the lines of each that is used once."""
    count, once = 0, []
    for module in modules.values():
        names = Counter(re.findall(r"\b_[a-z]\w*", module.text))
        for function in module.functions:
            name = function.name
            if name.startswith("_") and not name.startswith("__") and not function.decorator_list:
                count += 1
                once += [lines_of(function)] if names[name] == 2 else []
    return count, once


def figures(modules: Mapping[str, Module]) -> dict[str, str]:
    """Returns each figure by what it counts."""
    edges = edges_between(modules)
    sizes = [module.text.count("\n") for module in modules.values()]
    functions = [f for module in modules.values() for f in module.functions]
    lengths = [lines_of(function) for function in functions]
    private, once = helpers(modules)
    basenames = Counter(name.rpartition(".")[2] for name in modules)
    inside = edges_between(modules, f"{ROOT}.matching")
    packages = {name for name in edges if any(m.startswith(f"{ROOT}.{name}.") for m in modules)}
    return {
        "packages at the root": str(len(packages)),
        "loose modules at the root": str(len(edges) - len(packages)),
        "modules": str(len(modules)),
        "lines": f"{sum(sizes):,}",
        "floors of the root": str(max(floors(edges).values(), default=0)),
        "circles at the root": str(len(circles(edges))),
        "floors inside matching": str(max(floors(inside).values(), default=0)),
        "circles inside matching": str(len(circles(inside))),
        "lines a file, 95th percentile, most": f"{percentile(sizes, 0.95)}, {max(sizes)}",
        "lines a function, 95th percentile, most": f"{percentile(lengths, 0.95)}, {max(lengths)}",
        "functions over 60 lines": str(sum(length > 60 for length in lengths)),
        "private helpers, share used once": f"{private:,}, {len(once) / max(1, private):.0%}",
        "private helpers of under five lines used once": str(sum(lines < 5 for lines in once)),
        "`noqa`": str(sum(module.text.count("# noqa") for module in modules.values())),
        "`cast(`": str(
            sum(len(re.findall(r"\bcast\(", module.text)) for module in modules.values())
        ),
        "imports inside functions": str(sum(map(inner_imports, modules.values()))),
        f"functions of {MOST_PARAMETERS} parameters or more": str(
            sum(parameters(function) >= MOST_PARAMETERS for function in functions)
        ),
        "basenames that occur three times or more": str(
            sum(count > 2 for count in basenames.values())
        ),
    }


def table(columns: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yields the lines of a Markdown table, a column for each source."""
    yield f"| | {' | '.join(columns)} |"
    yield f"|---|{'---|' * len(columns)}"
    for name in next(iter(columns.values())):
        yield f"| {name} | {' | '.join(each[name] for each in columns.values())} |"


def floor_plan(modules: Mapping[str, Module]) -> Iterator[str]:
    """Yields the parts of the root by floor, highest first."""
    by_floor: dict[int, list[str]] = defaultdict(list)
    for name, floor in floors(edges_between(modules)).items():
        by_floor[floor].append(name)
    for floor in sorted(by_floor, reverse=True):
        yield f"{floor}. {', '.join(sorted(by_floor[floor]))}"


def main() -> None:
    """Measures, prints, and keeps the page if asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--source", type=Path, default=SOURCE)
    parser.add_argument("--before", type=Path, help="the root package of another version")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/structure.md")
    chosen = parser.parse_args()
    now = modules_of(chosen.source)
    columns = {"now": figures(now)}
    if chosen.before:
        columns = {"before": figures(modules_of(chosen.before)), **columns}
    body = "\n".join((*table(columns), "", "Floors, highest first:", "", *floor_plan(now)))
    if chosen.keep:
        keep("structure", "How the source is built", "python -m benchmarks.structure", body)
    else:
        print(body)


if __name__ == "__main__":
    main()

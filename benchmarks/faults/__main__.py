"""Fails and kills every file call of commands: `python -m benchmarks.faults [--points N]`.

Without options every call of every command on every kind of store fails and is killed in turn, and
power is lost at every change of a file. `--points 2000 --seed TEXT` draws a sample: few points
leave scenes out, never a kind. `--results FILE` keeps each scene when it is done: the same command
goes on where it was stopped, one with another seed adds to it, and `--keep` writes all of the file
to `benchmarks/results/faults.md`. `--only KIND/COMMAND/SIZE` and `--fault 'kill at 31'` repeat one.
"""

from __future__ import annotations

import argparse
import errno
import gc
import io
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from benchmarks.faults import power
from benchmarks.faults.injection import (
    CHANGING,
    Ended,
    Fault,
    How,
    run,
    start_again_with_shim,
)
from benchmarks.faults.kinds import KINDS, Kind
from benchmarks.faults.verification import dishonest, wrong
from benchmarks.faults.worlds import CASES, READERS, Case, World, names, nothing_to_show
from benchmarks.measure import keep

SIZES: Final = (6, 21)
OWN: Final = ("sqlite", "jsonl")
"""Kinds whose files are our own: what a loss of power leaves is ours to answer for."""

ENOUGH: Final = 10
"""Points of a scene that are worth its making; where there are fewer, scenes are left out."""

SLOW: Final = 0.1
"""Points of a scene of a slow kind for one of another."""

REHEARSED: Final = ("undo mark", "dedup mark", "supersede", "audit")
"""Commands that load the modules of a kind."""

SHARES: Final = (0.35, 0.6, 0.85)
"""Where an `apply` is killed to leave an interrupted run for `check`: shares of its calls."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A command on a store of a kind and size."""

    kind: Kind
    name: str
    size: int

    def __str__(self) -> str:
        return f"{self.kind.name}/{self.name}/{self.size}"


@dataclass
class Tally:
    """What became of the points of a scene."""

    scene: str
    seed: str
    calls: int = 0
    points: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def as_json(self) -> str:
        """One line."""
        return json.dumps(
            {
                "scene": self.scene,
                "seed": self.seed,
                "calls": self.calls,
                "points": self.points,
                "outcomes": self.outcomes,
                "violations": self.violations,
                "seconds": round(self.seconds, 1),
            }
        )


def scenes() -> list[Scene]:
    """All of them."""
    listed = []
    for kind in KINDS.values():
        for size in SIZES if kind.large else SIZES[:1]:
            listed += [
                Scene(kind, name, size) for name in (*CASES, *READERS) if name not in kind.without
            ]
            listed += [
                Scene(kind, f"check after {action} killed at {share}", size)
                for action in ("apply mark", "apply merge", "apply delete", "undo delete")
                for share in SHARES
                if action not in kind.without
            ]
    return listed


class Stage:
    """Runs the points of one scene, each on a fresh copy of its world."""

    def __init__(self, scene: Scene, base: Path) -> None:
        self.scene = scene
        self.folder = base / "world"
        self.template = base / "template"
        self.scratch = base / "scratch"
        for path in (self.folder, self.template, self.scratch, base / "trial"):
            shutil.rmtree(path, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.scratch.mkdir()
        self.world = self._prepared()
        shutil.copytree(self.folder, self.template, symlinks=True)
        self.usual = names(self.folder) | self.world.before.files.keys()

    def _prepared(self) -> World:
        name, at, share = self.scene.name.partition(" killed at ")
        name = name.removeprefix("check after ")
        made = self._apart({**CASES, **READERS}[name])
        if not at:
            return made
        shutil.copytree(self.folder, self.template, symlinks=True)
        ended = self._run(made)
        places = [n for n, letter in enumerate(ended.kinds) if letter in CHANGING]
        self._restore()
        self._run(made, Fault(How.KILL, places[int(len(places) * float(share))]))
        shutil.rmtree(self.template)
        return replace(made, arguments=("check", made.url), proof=nothing_to_show)

    def _apart(self, make: Case) -> World:
        """Makes a world in a child: libraries start threads, which a later fork would lose."""
        place = self.scratch / "made"

        def work() -> int:
            world = make(self.scene.kind, self.folder, self.scene.size)
            place.write_bytes(pickle.dumps(world))
            return 0

        ended = run(work, roots=[], scratch=self.scratch, fault=Fault(How.OFF))
        if ended.code != 0:
            raise AssertionError(f"{self.scene} cannot be made: {ended.signal} {ended.said[-800:]}")
        world: World = pickle.loads(place.read_bytes())
        return world

    def _restore(self) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(self.template, self.folder, symlinks=True)

    def _run(self, world: World, fault: Fault | None = None, trace: Path | None = None) -> Ended:
        return run(
            lambda: _command(world.arguments),
            roots=[self.folder],
            scratch=self.scratch,
            fault=fault,
            trace=trace,
        )

    def counted(self) -> Ended:
        """A run without faults, with its calls."""
        self._restore()
        ended = self._run(self.world)
        problem = dishonest(ended) or (f"failed: {ended.said}" if ended.code else None)
        problem = problem or self.verdict(ended)
        if problem:
            raise AssertionError(f"{self.scene}: without any fault: {problem}")
        self.usual |= names(self.folder)
        return ended

    def point(self, fault: Fault) -> tuple[Ended, str | None]:
        """Run the command with a fault; what is wrong then, or None."""
        self._restore()
        ended = self._run(self.world, fault)
        return ended, dishonest(ended) or self.verdict(ended) or self._strays()

    def _strays(self) -> str | None:
        """Files that are there after check and undo, and would not be without the fault.

        What SQLite keeps beside a database goes with the next program that closes it well, the
        draft of a new file that a kill left behind with the next command that makes the file, or,
        where it had no lock yet, with the next an hour later.
        A slow kind is a library with logs and tables of its own: there only our names count.
        """
        left = sorted(
            name
            for name in names(self.folder) - self.usual
            if not name.endswith(("-wal", "-shm", "-journal"))
            and not any(part in name for part in (".draft/", ".making/"))
            and ("echoless" in name or not self.scene.kind.slow)
        )
        return f"stray files: {left}" if left else None

    def verdict(self, ended: Ended) -> str | None:
        """What is wrong with the world now, found out by a child."""
        place = self.scratch / "verdict"
        place.unlink(missing_ok=True)

        def look() -> int:
            place.write_text(wrong(self.world, ended) or "", "utf-8")
            return 0

        looked = run(look, roots=[], scratch=self.scratch, fault=Fault(How.OFF))
        if looked.code != 0 or not place.exists():
            return f"the look at it ended with {looked.code}/{looked.signal}: {looked.said[-600:]}"
        return place.read_text("utf-8") or None

    def power_losses(self, draw: random.Random, count: int) -> Iterator[tuple[str, str | None]]:
        """Lose power before each change, in several ways; gives what is wrong after each."""
        self._restore()
        start = power.Disk.of(self.folder)
        trace = self.scratch / "trace"
        ended = self._run(self.world, trace=trace)
        operations = power.read_trace(trace)
        for at in range(len(operations) + 1):
            over = at == len(operations)
            then = ended if over else Ended(None, 9, "")
            for number, disk in enumerate(
                power.states(start, operations, at, draw=draw, count=count)
            ):
                disk.write_to(self.folder)
                yield f"power at {at} of {len(operations)} state {number}", self.verdict(then)


def _command(arguments: Sequence[str]) -> int:
    from echoless.cli.main import main

    try:
        main.main(args=list(arguments), prog_name="echoless")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    return 0


def faults(letters: str) -> Iterator[Fault]:
    """Every fault at every call of a run."""
    for at, letter in enumerate(letters):
        yield Fault(How.FAIL, at, errno.EIO)
        if letter in CHANGING:
            yield Fault(How.KILL, at)
        if letter == "w":
            yield Fault(How.TEAR, at)
            yield Fault(How.SHORT, at)
        if letter in "cwnt":
            yield Fault(How.FAIL, at, errno.ENOSPC)
            yield Fault(How.FAIL_ON, at, errno.ENOSPC, "cwnt")
        if letter in "ocnt":
            yield Fault(How.FAIL, at, errno.EACCES)
        if letter == "s":
            yield Fault(How.FAIL_ON, at, errno.EIO, "s")
        if letter == "m":
            yield Fault(How.FAIL, at, errno.ENOMEM)


def _play(scene: Scene, base: Path, seed: str, *, most: int | None, states: int) -> Tally:
    tally = Tally(str(scene), seed)
    draw = random.Random(f"{seed}/{scene}")
    began = time.monotonic()
    stage = Stage(scene, base)
    ended = stage.counted()
    tally.calls = len(ended.kinds)
    planned = list(faults(ended.kinds))
    if most is not None:
        planned = draw.sample(planned, min(most, len(planned)))
    for fault in planned:
        end, problem = stage.point(fault)
        tally.points[fault.how.name.lower()] += 1
        tally.outcomes["killed" if end.killed else "done" if end.code == 0 else "refused"] += 1
        if problem:
            _tell(tally, str(fault), problem)
    if scene.kind.name in OWN and scene.name not in READERS:
        losses = stage.power_losses(draw, states if most is None else 1)
        for number, (where, problem) in enumerate(losses):
            if most is not None and number >= most:
                break
            tally.points["power"] += 1
            tally.outcomes["power lost"] += 1
            if problem:
                _tell(tally, where, problem)
    tally.seconds = time.monotonic() - began
    return tally


def _tell(tally: Tally, where: str, problem: str) -> None:
    tally.violations.append(f"{where}: {problem}")
    print(f"  {tally.scene} · {where}: {problem[:500]}", flush=True)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--points", type=int, help="draw about so many instead of all")
    parser.add_argument("--seed", default="echoless")
    parser.add_argument("--states", type=int, default=8, help="states a loss of power leaves")
    parser.add_argument("--stores", help=f"fast, or of {','.join(KINDS)}; all by default")
    parser.add_argument("--only", action="append", help="scenes whose name contains this")
    parser.add_argument("--fault", help="one fault, as printed")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument(
        "--results",
        type=Path,
        help="one JSON line a scene; those that are there with this seed are not repeated",
    )
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/faults.md")
    chosen = parser.parse_args()
    if chosen.part is None:
        _parent(chosen)
        return
    start_again_with_shim(["-m", "benchmarks.faults", *sys.argv[1:]])
    _worker(chosen)


def _parent(chosen: argparse.Namespace) -> None:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        results = chosen.results or Path(place, "results.jsonl")
        parts = [
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.faults", *sys.argv[1:],
                 "--part", f"{n}/{chosen.workers}", "--results", str(results)]
            )
            for n in range(chosen.workers)
        ]  # fmt: skip
        codes = [part.wait() for part in parts]
        lines = _lines(results)
    tallies = [json.loads(line) for line in lines]
    print(f"{(time.monotonic() - began) / 60:.0f} minutes.")
    body = _page(tallies)
    if chosen.keep:
        words = " ".join(word for word in sys.argv[1:] if word != "--keep")
        keep("faults", "Faults at file calls", f"python -m benchmarks.faults {words}", body)
    else:
        print(body)
    if any(codes) or any(tally["violations"] for tally in tallies):
        sys.exit(1)


def _is_wanted(scene: Scene, chosen: argparse.Namespace) -> bool:
    if chosen.stores == "fast" and scene.kind.slow:
        return False
    if chosen.stores not in {None, "fast"} and scene.kind.name not in chosen.stores.split(","):
        return False
    return not chosen.only or any(each in str(scene) for each in chosen.only)


def _lines(results: Path) -> list[str]:
    return results.read_text("utf-8").splitlines() if results.exists() else []


def drawn(wanted: Sequence[Scene], points: int | None, seed: str) -> list[tuple[Scene, int | None]]:
    """Draws scenes, each with its number of points, in an order that spreads kinds and work.

    Args:
        wanted: Those to draw from.
        points: How many in all, or None for every point of every scene.
        seed: Any text; the same gives the same.

    Returns:
        Scenes with the most points of each. No kind is left out, however few the points are.
    """
    seen: Counter[str] = Counter()
    ranked = []
    for scene in random.Random(seed).sample(list(wanted), len(wanted)):
        ranked.append((seen[scene.kind.name], scene))
        seen[scene.kind.name] += 1
    ranked.sort(key=lambda each: each[0])  # stable: the first of each kind, then the second …
    order = [scene for _, scene in ranked]
    if points is None:
        return [(scene, None) for scene in order]
    order = order[: max(len(seen), points // ENOUGH)]
    whole = sum(_weight(scene) for scene in order)
    return [(scene, max(1, round(points * _weight(scene) / whole))) for scene in order]


def _weight(scene: Scene) -> float:
    return SLOW if scene.kind.slow else 1.0


def _worker(chosen: argparse.Namespace) -> None:
    number, whole = map(int, chosen.part.split("/"))
    wanted = [scene for scene in scenes() if _is_wanted(scene, chosen)]
    finished = {
        (each["scene"], each.get("seed")) for each in map(json.loads, _lines(chosen.results))
    }
    mine = [
        (scene, most)
        for scene, most in drawn(wanted, chosen.points, chosen.seed)[number::whole]
        if (str(scene), chosen.seed) not in finished
    ]
    shared = Path("/dev/shm")
    place = shared if os.access(shared, os.W_OK) else None
    failed = False
    _warm([kind for kind in KINDS.values() if any(scene.kind is kind for scene in wanted)])
    with tempfile.TemporaryDirectory(dir=place, prefix="echoless-faults-") as base:
        os.environ |= {"ECHOLESS_CACHE_DIR": f"{base}/cache", "ECHOLESS_ENCODER": "none"}
        for done, (scene, most) in enumerate(mine, 1):
            if chosen.fault:
                _again(scene, Path(base), chosen.fault)
                continue
            try:
                tally = _play(scene, Path(base), chosen.seed, most=most, states=chosen.states)
            except AssertionError as problem:
                tally, failed = Tally(str(scene), chosen.seed, violations=[str(problem)]), True
                print(f"  {problem}", flush=True)
            with chosen.results.open("a") as file:
                file.write(tally.as_json() + "\n")
            points = sum(tally.points.values())
            print(
                f"worker {number}: scene {done} of {len(mine)}, {scene}: {points} points in "
                f"{tally.seconds:.0f} s, {len(tally.violations)} violations",
                flush=True,
            )
    sys.exit(1 if failed else 0)


def _warm(kinds: Collection[Kind]) -> None:
    """Loads all modules before any fork: a child would load them anew each time."""
    silence = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as place,
        redirect_stdout(silence),
        redirect_stderr(silence),
    ):
        os.environ |= {"ECHOLESS_CACHE_DIR": f"{place}/cache", "ECHOLESS_ENCODER": "none"}
        for kind in kinds:
            if kind.slow:
                continue  # its library starts threads, which a fork would lose
            for name, case in {**CASES, **READERS}.items():
                if name in kind.without or (kind.name not in OWN and name not in REHEARSED):
                    continue
                folder = Path(place, kind.name, name)
                folder.mkdir(parents=True)
                _command(case(kind, folder, SIZES[0]).arguments)
    for library in {library for kind in kinds for library in kind.libraries}:
        import_module(library)
    gc.collect()
    gc.freeze()
    gc.disable()


def _again(scene: Scene, base: Path, wanted: str) -> None:
    """Repeat one fault and say all about it."""
    stage = Stage(scene, base)
    for fault in faults(stage.counted().kinds):
        if str(fault) == wanted:
            ended, problem = stage.point(fault)
            print(f"{scene} · {fault}: exit {ended.code}, signal {ended.signal}\n{ended.said}")
            print(f"verdict: {problem or 'in order'}")


def _page(tallies: Sequence[dict[str, Any]]) -> str:
    """The result for people: sums by kind and command."""
    points: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    by_kind: dict[str, Counter[str]] = {}
    seconds: dict[str, float] = {}
    for tally in tallies:
        kind = str(tally["scene"]).partition("/")[0]
        points.update(tally["points"])
        outcomes.update(tally["outcomes"])
        row = by_kind.setdefault(kind, Counter())
        row.update(tally["points"])
        row["scenes"] += 1
        row["violations"] += len(tally["violations"])
        seconds[kind] = seconds.get(kind, 0.0) + tally["seconds"]
    hows = sorted(points)
    head = ["store", "scenes", *hows, "all", "points a second", "violations"]
    rows = [
        [kind, str(row["scenes"]), *(f"{row[how]:,}" for how in hows),
         f"{(whole := sum(row[how] for how in hows)):,}", f"{whole / max(seconds[kind], 0.1):.1f}",
         str(row["violations"])]
        for kind, row in sorted(by_kind.items())
    ]  # fmt: skip
    table = [head, ["---"] * len(head), *rows]
    lines = "\n".join(f"| {' | '.join(cells)} |" for cells in table)
    wrong_ones = [f"- {t['scene']} · {v}" for t in tallies for v in t["violations"]]
    return (
        f"{sum(points.values()):,} points in {len(tallies)} scenes"
        f" (seeds {', '.join(sorted({str(tally['seed']) for tally in tallies}))}): "
        f"{sum(len(t['violations']) for t in tallies)} violations "
        f"({', '.join(f'{n:,} {o}' for o, n in outcomes.items())}).\n\n{lines}\n\n"
        + "\n".join(wrong_ones[:200])
    )


if __name__ == "__main__":
    main()

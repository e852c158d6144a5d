"""The fuzzer sees each kind of mistake, repeats an input by its number, and keeps what it found."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from random import Random

import click
import pytest
from benchmarks.fuzz import canaries, corpus, doors, engine
from benchmarks.fuzz.children import made, try_out
from benchmarks.fuzz.hostile import HOSTILE
from benchmarks.fuzz.model import Door, Target, Wrong
from benchmarks.fuzz.seeds import write_notes
from benchmarks.fuzz.targets import TARGETS, doors_of

LINE = b'{"id": "m-1", "content": "The database listens on port 5432."}\n'
WRONG = Wrong("internal error", "audit", "KeyError", "codec.py:memory")


def target(*ways: Door, **options: object) -> Target:
    return Target("any", 1, lambda _p: None, lambda _r, _f: None, ways, "m.jsonl", **options)  # type: ignore[arg-type]


def talking(talk: Callable[[str], object], effect: str = "reads") -> Door:
    def talks(store: str) -> list[Wrong]:
        talk(store)
        return []

    return Door("talk", effect=effect, talk=talks)  # type: ignore[arg-type]


def faults(door: Door, **limits: int) -> list[tuple[str, str]]:
    outcome = try_out({"m.jsonl": LINE}, target(door), [door], **limits)
    return [(wrong.fault, wrong.error) for wrong in outcome.wrong]


# ------------------------------------------------------------------ what is seen


def test_a_command_that_does_as_it_should_is_not_blamed() -> None:
    assert faults(Door("search", ("search", "{store}", "port"))) == []
    assert faults(Door("audit", ("audit", "nowhere.jsonl"))) == []


def test_an_exception_that_is_no_error_of_echoless_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_words: object, **_options: object) -> None:
        raise KeyError("action")

    monkeypatch.setattr("echoless.cli.reading.open_store", broken)
    assert faults(Door("search", ("search", "{store}", "port"))) == [("internal error", "KeyError")]


def test_an_end_of_file_that_looks_like_an_interruption_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_words: object, **_options: object) -> None:
        raise EOFError("no data left in file")

    monkeypatch.setattr("echoless.cli.reading.open_store", broken)
    assert faults(Door("search", ("search", "{store}", "port"))) == [("internal error", "EOFError")]


def test_a_process_that_is_killed_is_seen() -> None:
    door = talking(lambda _store: os.kill(os.getpid(), signal.SIGKILL))
    assert faults(door) == [("killed by a signal", "SIGKILL")]


def test_a_process_that_does_not_end_is_seen() -> None:
    def forever(_store: str) -> None:
        while True:
            pass

    assert faults(talking(forever), seconds=1) == [("hang", "more than 1 s")]


def test_a_process_that_takes_much_memory_is_seen() -> None:
    door = talking(lambda _store: bytearray(os.urandom(1024)) * 200_000)
    assert ("memory", "more than 150 MB") in faults(door, megabytes=150)


def test_a_byte_changed_by_reading_is_seen() -> None:
    door = talking(lambda store: Path(store).write_bytes(LINE * 2))
    assert [fault for fault, _ in faults(door)] == ["changed by reading"]


def test_a_file_left_by_a_refusal_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    @click.pass_context
    @click.argument("words", nargs=-1)
    @click.option("--debug", is_flag=True)
    def refuses(ctx: click.Context, words: tuple[str, ...], debug: bool) -> None:
        Path("out.db").write_bytes(b"half")
        ctx.exit(3)

    monkeypatch.setattr(doors, "main", refuses)
    door = Door("import", ("import", "{store}", "out.db"), makes=("out",))
    assert [fault for fault, _ in faults(door)] == ["changed by a refusal"]


def test_an_undo_that_does_not_give_back_what_was_there_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @click.command()
    @click.argument("words", nargs=-1)
    @click.option("--debug", is_flag=True)
    def half(words: tuple[str, ...], debug: bool) -> None:
        if words[0] == "remember":
            Path("m.jsonl").write_bytes(LINE + LINE.replace(b"m-1", b"m-2"))
            click.echo("To take it back: undo run-20261123-144938-a4fada.")
        else:
            Path("m.jsonl").write_bytes(LINE + b"\n")

    monkeypatch.setattr(doors, "main", half)
    door = Door("remember", ("remember", "{store}"), "undone")
    assert [fault for fault, _ in faults(door)] == ["not undone"]


def two_runs(monkeypatch: pytest.MonkeyPatch, *, undoes: bool) -> None:
    """A command that makes two runs and names them, beside one from before."""
    lines = {"run-1": LINE, "run-2": LINE.replace(b"m-1", b"m-2")}

    @click.command()
    @click.argument("words", nargs=-1)
    @click.option("--debug", is_flag=True)
    def program(words: tuple[str, ...], debug: bool) -> None:
        path = Path("m.jsonl")
        if words[0] == "remember":
            path.write_bytes(b"".join((path.read_bytes(), *lines.values())))
            for run in lines:
                click.echo(f"To take it back: undo m.jsonl {run}")
        elif undoes or words[-1] == "run-1":
            assert path.read_bytes().endswith(lines[words[-1]])  # the last is taken back first
            path.write_bytes(path.read_bytes().removesuffix(lines[words[-1]]))

    monkeypatch.setattr(doors, "main", program)


@pytest.mark.parametrize(("undoes", "seen"), [(True, []), (False, ["internal error"])])
def test_all_runs_of_a_command_are_undone_the_last_first(
    monkeypatch: pytest.MonkeyPatch, undoes: bool, seen: list[str]
) -> None:
    two_runs(monkeypatch, undoes=undoes)
    door = Door("remember", ("remember", "{store}"), "undone")
    assert [fault for fault, _ in faults(door)] == seen


def test_a_run_of_before_that_an_output_names_is_left_alone() -> None:
    """`--action delete` names the run that hid what it leaves in the store."""
    chosen = TARGETS["jsonl"]
    doubled = LINE + LINE.replace(b"m-1", b"m-2")
    hide = Door("hide", ("dedup", "{store}", "--apply", "--set", "semantic=no"), "writes")
    delete = Door("delete", (*hide.words, "--action", "delete"), "undone")
    assert try_out({"m.jsonl": doubled}, chosen, [hide, delete]).wrong == ()


# ------------------------------------------------------------------ what lies beside a store


def touching(change: Callable[[], object]) -> list[str]:
    return [fault for fault, _ in faults(talking(lambda _store: change(), effect="writes"))]


@pytest.mark.parametrize(
    "change",
    [
        lambda: Path("victim/known.txt").write_text("other"),
        lambda: Path("home/.bashrc").unlink(),
        lambda: Path("home/.ssh/id_rsa").chmod(0o644),
        lambda: os.utime("victim/diary.md"),
        lambda: Path("home/.ssh/authorized_keys").write_text("mine"),
        lambda: Path("victim/x").write_text("y"),
    ],
)
def test_a_file_beside_the_store_that_changes_or_appears_is_seen(
    change: Callable[[], object],
) -> None:
    assert touching(change) == ["canary touched"]


def test_a_private_text_in_a_file_or_an_output_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def copy() -> None:
        Path("out.md").write_bytes(Path("victim/diary.md").read_bytes())

    @click.command()
    @click.argument("words", nargs=-1)
    @click.option("--debug", is_flag=True)
    def prints(words: tuple[str, ...], debug: bool) -> None:
        click.echo(Path("home/.ssh/id_rsa").read_text())

    assert touching(copy) == ["canary read out"]
    monkeypatch.setattr(doors, "main", prints)
    assert [fault for fault, _ in faults(Door("show", ("show",)))] == ["canary read out"]


def test_a_command_of_an_input_that_was_run_is_seen() -> None:
    assert touching(canaries.ran) == ["executed"]


def test_a_link_and_a_pipe_of_a_case_are_made_and_change_nothing() -> None:
    files = {"m.jsonl": LINE, "link": canaries.LINK + b"victim/known.txt", "pipe": canaries.FIFO}

    def look(_store: str) -> list[Wrong]:
        assert Path("link").is_symlink()
        assert Path("pipe").is_fifo()
        return []

    door = Door("look", talk=look)
    assert try_out(files, target(door), [door]).wrong == ()


@pytest.mark.parametrize("name", [each.name for each in HOSTILE])
def test_a_hostile_input_names_what_lies_beside_the_store(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 40 inputs of a target some say a canary, or ask for a command, where a path belongs."""
    monkeypatch.chdir(tmp_path)
    chosen = TARGETS[name]
    valid = made(chosen)
    several = [engine.case(chosen, [valid], "0", number)[1] for number in range(40)]
    assert sum(files != valid for files in several) > 25
    wanted = {"front matter": b"canaries.ran", "qdrant": b"canaries"}.get(name, b"victim")
    assert sum(any(wanted in data for data in files.values()) for files in several) >= 3


def test_a_control_character_on_the_terminal_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    @click.argument("words", nargs=-1)
    @click.option("--debug", is_flag=True)
    def prints(words: tuple[str, ...], debug: bool) -> None:
        click.echo("\x07")

    monkeypatch.setattr(doors, "main", prints)
    assert [fault for fault, _ in faults(Door("show", ("show",)))] == ["control characters"]


# ------------------------------------------------------------------ what can be repeated


@pytest.mark.parametrize("name", ["jsonl", "hook", "pairs", "config", "map", "arguments", "stdio"])
def test_an_input_follows_from_target_seed_and_number(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    chosen = TARGETS[name]
    chosen.make(tmp_path)
    valid = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    many = [engine.case(chosen, [valid], seed, 7)[1] for seed in ("1", "1", "2", "3", "4")]
    assert many[0] == many[1]
    assert len({repr(files) for files in many}) > 2


def test_an_input_goes_by_two_doors_that_read_and_then_one_that_writes() -> None:
    for number in range(50):
        chosen = doors_of(TARGETS["jsonl"], Random(number))
        assert [door.effect == "reads" for door in chosen] == [True, True, False]


# ------------------------------------------------------------------ what is kept


def test_a_case_is_made_small_as_long_as_it_goes_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_notes()
    valid = {"m.jsonl": Path("m.jsonl").read_bytes()}
    files = {"m.jsonl": valid["m.jsonl"] + b'{"id": "odd"}\n'}
    small = corpus.smaller(valid, files, lambda some: b'"odd"' in some["m.jsonl"], WRONG)
    assert small["m.jsonl"].strip().count(b"\n") == 0
    assert b'"odd"' in small["m.jsonl"]


def test_a_damaged_database_keeps_the_damage_that_matters_only() -> None:
    valid = {"m.db": b"SQLite format 3\0" + bytes(20_000)}
    data = bytearray(valid["m.db"])
    data[5_000] = data[9_000] = data[15_000] = 7
    shown = corpus.smaller(valid, {"m.db": bytes(data)}, lambda f: f["m.db"][9_000] == 7, WRONG)
    assert [place for place, byte in enumerate(shown["m.db"][16:], 16) if byte] == [9_000]


def test_what_was_saved_comes_back_and_is_saved_once(tmp_path: Path) -> None:
    files = {"m.jsonl": LINE, "m.jsonl.echoless": b"SQLite format 3\0" + bytes(5_000)}
    entry = corpus.save(tmp_path, "ledger", WRONG, files)
    assert entry is not None
    assert corpus.save(tmp_path, "ledger", WRONG, files) is None
    assert corpus.entries(tmp_path) == [entry]
    assert corpus.load(entry, {}, tmp_path) == files


def test_damage_to_a_cache_is_done_again_to_a_cache_of_today(tmp_path: Path) -> None:
    name = "cache/door/{}/{}/alive.npy"
    then = {name.format("a" * 32, "b" * 16): b"head-12345-tail", "m.jsonl": LINE}
    damaged = {**then, name.format("a" * 32, "b" * 16): b"head-9-tail"}
    entry = corpus.save(tmp_path, "cache", WRONG, damaged, then)
    assert entry is not None
    now = {name.format("c" * 32, "d" * 16): b"head-67890-tail", "m.jsonl": LINE * 2}
    assert corpus.load(entry, now, tmp_path) == {
        name.format("c" * 32, "d" * 16): b"head-9-tail",
        "m.jsonl": LINE * 2,
    }

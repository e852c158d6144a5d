"""What a shell is told when somebody presses Tab, from the program itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SHELLS = ("bash", "zsh", "fish")


def told(*words: str, shell: str = "bash") -> list[str]:
    """What the program prints for a line whose last word is being typed; it says nothing else."""
    typed = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    if shell == "fish":
        typed["COMP_CWORD"] = words[-1]
    done = subprocess.run(
        [sys.executable, "-c", "from echoless.cli.main import run; run()"],
        env={**os.environ, **typed, "_ECHOLESS_COMPLETE": f"{shell}_complete"},
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("echoless", "disc"), ["plain,discover"]),
        (("echoless", "ego-mcp", "keep"), ["plain,keep-both"]),
        (("echoless", "audit", "--fail-o"), ["plain,--fail-over"]),
        (("echoless", "dedup", "a.db", "--action", "m"), ["plain,mark", "plain,merge"]),
        (("echoless", "schema", "recall-d"), ["plain,recall-dedup"]),
    ],
)
def test_commands_options_and_values_are_completed(
    words: tuple[str, ...], answer: list[str]
) -> None:
    assert told(*words) == answer


@pytest.mark.parametrize(
    "words",
    [
        ("audit",),
        ("audit", "other.db"),
        ("dedup",),
        ("search",),
        ("tend",),
        ("judge",),
        ("import",),
        ("import", "a.jsonl"),
        ("apply", "agent.db"),
        ("backup", "agent.db"),
        ("explain", "m-1", "m-2", "--store"),
    ],
)
def test_the_shell_completes_the_path_of_a_store_or_a_file(words: tuple[str, ...]) -> None:
    assert told("echoless", *words, "notes/ag") == ["file,notes/ag"]


def test_zsh_and_fish_are_told_what_each_is_for() -> None:
    assert told("echoless", "disc", shell="zsh")[:3] == [
        "plain",
        "discover",
        "Which memory stores there are, and where.",
    ]
    (answer,) = told("echoless", "disc", shell="fish")
    assert answer.startswith("plain,discover\tWhich memory stores")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_one_its_shell_takes(shell: str, tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-c", "from echoless.cli.main import run; run()"],
        env={**os.environ, "_ECHOLESS_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    )
    assert "_ECHOLESS_COMPLETE" in made.stdout
    program = shutil.which(shell)
    if program is not None:
        script = tmp_path / "script"
        script.write_text(made.stdout)
        subprocess.run([program, "-n", str(script)], check=True, timeout=50)

"""The Dockerfile for jobs with partitions: what it names is there."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Final

from click.testing import CliRunner

from echoless.cli.main import main

ROOT: Final = Path(__file__).parents[1]
STEPS: Final = [
    line.split(maxsplit=1)
    for line in re.sub(
        r"\\\n|^#.*$", "", (ROOT / "docker" / "Dockerfile").read_text("utf-8"), flags=re.M
    ).splitlines()
    if line
]
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def only(name: str) -> str:
    (words,) = [words for step, words in STEPS if step == name]
    return words


def test_the_wheel_is_installed_with_extras_that_exist_at_the_tested_versions() -> None:
    run = only("RUN")
    (extras,) = re.findall(r'"echoless\[(.+)\] @ file://\$\(ls /dist/echoless-\*\.whl\)"', run)
    assert {*extras.split(",")} <= PROJECT["optional-dependencies"].keys()
    assert "-c /constraints.txt" in run
    mounted = dict(re.findall(r"--mount=type=bind,source=(\S+),target=(\S+)", run))
    assert mounted == {"dist": "/dist", "constraints.txt": "/constraints.txt"}
    assert "--outdir dist" in (ROOT / "Makefile").read_text("utf-8")


def test_its_python_is_one_the_project_is_tested_on() -> None:
    (version,) = re.findall(r"^python:(\d+\.\d+)-slim$", only("FROM"))
    assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]
    assert f"'{version}'" in (ROOT / ".github/workflows/ci.yml").read_text("utf-8")


def test_it_runs_a_command_that_exists_as_a_user_who_is_not_root() -> None:
    assert int(only("USER")) > 0
    assert f"--uid {only('USER')} worker" in only("RUN")
    assert only("WORKDIR") == "/home/worker"
    program, *words = json.loads(only("ENTRYPOINT"))
    assert program in PROJECT["scripts"]
    for command in re.findall(
        r"echoless-jobs (\w+)", (ROOT / "docs" / "scale.md").read_text("utf-8")
    ):
        assert CliRunner().invoke(main, [*words, command, "--help"]).exit_code == 0

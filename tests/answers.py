"""Holds every JSON answer that a test makes a command print to the schema of the command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import click
import pytest
from jsonschema import Draft202012Validator

from echoless.cli import render
from echoless.core.answer_schemas import answer_names, answer_schema


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(answer_schema(name))


def check(name: str, answer: object) -> None:
    """Fails where an answer is not as its schema says."""
    wrong = [
        f"{each.json_path}: {cause.json_path}: {cause.message[:300]}"
        for each in validator(name).iter_errors(answer)
        for cause in (each, *(each.context or ()))
    ]
    assert not wrong, f"{name}: {wrong}"


def name_of(context: click.Context | None) -> str:
    """The name of the schema of the running command."""
    words = [] if context is None else context.command_path.split()[1:]
    serving = context is not None and context.params.get("serve")
    return "-".join([*words, *(["serve"] if serving else [])])


@pytest.fixture(autouse=True, scope="session")
def held_to_schemas() -> Iterator[None]:
    """Checks each answer where it is written, as the last step before it is printed."""
    written, known = render.json_line, set(answer_names())

    def checked(value: Any, **form: Any) -> str:
        text = written(value, **form)
        name = name_of(click.get_current_context(silent=True))
        if name in known:
            check(name, json.loads(text))
        return text

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(render, "json_line", checked)
        yield

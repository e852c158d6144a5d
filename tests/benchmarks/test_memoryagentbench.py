"""The agent for MemoryAgentBench, with what its harness gives it, and a reader that is none."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

HERE = Path(__file__).parents[2] / "packages" / "bench" / "memoryagentbench"
FACTS = (
    "Dialogue between User and Assistant: 0. The mayor of Ulm is Ada Kern. 1. Oslo lies at 59. ",
    "degrees north. 2. The mayor of Ulm is Bo Lind.",
)
"""Two parts of a context as the harness cuts it: sentences, joined by spaces."""
QUESTION = "Some words of the task.\n\nNow Answer the Question: Who is the mayor of Ulm?"


def read_aloud(model: str, messages: list[dict[str, str]], **_: object) -> SimpleNamespace:
    """What a reader gives back: the prompt itself."""
    message = SimpleNamespace(content=messages[-1]["content"])
    usage = SimpleNamespace(prompt_tokens=7, completion_tokens=3)
    return SimpleNamespace(choices=[SimpleNamespace(message=message)], usage=usage, model=model)


def query_of(message: str) -> str:
    """As `_extract_retrieval_query` of the harness, for a question."""
    return message.partition("Now Answer the Question: ")[2]


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch) -> Any:
    templates = ModuleType("utils.templates")
    vars(templates)["get_template"] = lambda *names: f"You are {names}."
    monkeypatch.setitem(sys.modules, "utils", ModuleType("utils"))
    monkeypatch.setitem(sys.modules, "utils.templates", templates)
    return SimpleNamespace(**runpy.run_path(str(HERE / "echoless_agent.py")))


def agent(folder: Path) -> tuple[SimpleNamespace, dict[str, Any]]:
    settings = yaml.safe_load((HERE / "Echoless_gpt-4o-mini.yaml").read_text("utf-8"))
    create = SimpleNamespace(completions=SimpleNamespace(create=read_aloud))
    made = SimpleNamespace(
        agent_name=settings["agent_name"],
        agent_save_to_folder=str(folder),
        sub_dataset="factconsolidation_sh_6k",
        model=settings["model"],
        temperature=settings["temperature"],
        max_tokens=10,
        _create_oai_client=lambda: SimpleNamespace(chat=create),
        _extract_retrieval_query=query_of,
    )
    return made, settings


def test_the_reader_gets_the_newer_value_and_not_the_older_one(
    adapter: Any, tmp_path: Path
) -> None:
    made, settings = agent(tmp_path)
    adapter.initialize_echoless_agent(made, settings)
    for part in FACTS:
        assert adapter.handle_echoless_agent(made, part, True, None, None) == "Memorized"
    said = adapter.handle_echoless_agent(made, QUESTION, False, 1, 0)
    assert said["output"].startswith("Memory 1:\n2. The mayor of Ulm is Bo Lind.\n")
    assert "Ada Kern" not in said["output"]
    assert (said["input_len"], said["output_len"]) == (7, 3)


def test_an_agent_begins_with_an_empty_store(adapter: Any, tmp_path: Path) -> None:
    for text in ("An older note about Ulm.", "A note without numbers about Ulm."):
        made, settings = agent(tmp_path)
        adapter.initialize_echoless_agent(made, settings)
        adapter.handle_echoless_agent(made, text, True, None, None)
    said = adapter.handle_echoless_agent(made, QUESTION, False, 1, 0)
    assert said["retrieval_context"] == ["0. A note without numbers about Ulm.\n"]

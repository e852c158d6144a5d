"""echoless as a memory agent of MemoryAgentBench, for its folder `methods`.

Each context is a store of its own. What is memorised is cut into facts, one a numbered line. Each
is written through the guard: an equal fact is not written again, and a newer value hides the older
one. The model of the configuration answers a question from the first hits of `echoless.search`, in
the words that the harness gives its retrieval agents.

The harness gives the agent: `agent_name`, `sub_dataset`, `output_dir`, `model`, `temperature`,
`max_tokens`, `_create_oai_client`, `_extract_retrieval_query`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from utils.templates import get_template  # of the harness

import echoless

FACT = re.compile(r"^\s*\d+\.\s+(\S.*?)\s*$", re.MULTILINE)
"""A fact of FactConsolidation: a numbered line."""
START = datetime(2026, 1, 1, tzinfo=UTC)
"""Time of the first fact of a context; the others follow by the second, in their order."""


def initialize_echoless_agent(agent: Any, agent_config: dict[str, Any]) -> None:
    """Sets up what `handle_echoless_agent` needs.

    Args:
        agent: Of the harness.
        agent_config: Its configuration, read from YAML.
    """
    agent.retrieve_num = agent_config["retrieve_num"]
    agent.written = {}
    agent.began = time.time()


def handle_echoless_agent(
    agent: Any, message: str, memorizing: bool, query_id: object, context_id: object
) -> Any:
    """Stores a message, or answers it from what is stored.

    Args:
        agent: Of the harness.
        message: A part of the context, or a question.
        memorizing: Whether it is to be stored.
        query_id: Of a question; not used.
        context_id: What belongs together.

    Returns:
        A word where it was stored, else the answer with tokens and seconds, as it is kept there.
    """
    del query_id
    with echoless.open_store(_address(agent, context_id), create=True) as store:
        if memorizing:
            _remember(agent, store, message, context_id)
            return "Memorized"
        return _answer(agent, store, message)


def _address(agent: Any, context_id: object) -> str:
    folder = Path(agent.output_dir).resolve() / "echoless"
    folder.mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{folder}/{agent.sub_dataset}-{context_id}.db"


def _facts(message: str) -> Iterator[str]:
    """Yields the numbered lines of a message, or the message as one where it has none."""
    found = FACT.findall(message)
    yield from found or [message.strip()]


def _remember(agent: Any, store: echoless.Store, message: str, context_id: object) -> None:
    first = agent.written.get(context_id, 0)
    requests: list[tuple[str, Any]] = [
        (
            fact,
            {
                "created_at": (START + timedelta(seconds=first + place)).isoformat(),
                "supersede": True,
                "unsure": "admit",
            },
        )
        for place, fact in enumerate(_facts(message))
    ]
    agent.written[context_id] = first + len(requests)
    with echoless.Guard(store) as guard:
        for said in guard.remember_many(requests):
            if isinstance(said, echoless.EcholessError):
                raise said


def _serial(memory: echoless.Memory) -> int:
    """Returns the number of a fact: the task says that a newer one has a larger number."""
    return int((datetime.fromisoformat(str(memory.created_at)) - START).total_seconds())


def _answer(agent: Any, store: echoless.Store, message: str) -> dict[str, Any]:
    begun, memorised = time.time(), time.time() - agent.began
    query = agent._extract_retrieval_query(message)  # noqa: SLF001 - so its own agents ask
    hits = echoless.search(store, query, limit=agent.retrieve_num).hits
    context = [f"{_serial(hit.memory)}. {hit.memory.content}\n" for hit in hits]
    shown = "\n".join(f"Memory {place}:\n{text}" for place, text in enumerate(context, 1))
    client = agent._create_oai_client()  # noqa: SLF001
    response = client.chat.completions.create(
        model=agent.model,
        messages=[
            {
                "role": "system",
                "content": get_template(agent.sub_dataset, "system", agent.agent_name),
            },
            {"role": "user", "content": f"{shown}\n{message}"},
        ],
        temperature=agent.temperature,
        max_tokens=agent.max_tokens,
    )
    agent.began = time.time()
    return {
        "output": response.choices[0].message.content,
        "input_len": response.usage.prompt_tokens,
        "output_len": response.usage.completion_tokens,
        "memory_construction_time": memorised,
        "query_time_len": time.time() - begun,
        "retrieval_context": context,
    }

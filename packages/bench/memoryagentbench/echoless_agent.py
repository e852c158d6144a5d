"""echoless as a memory agent of MemoryAgentBench, for its folder `methods`.

An agent of the harness reads one context, so it has one store, made anew. What it is given is cut
into facts by their numbers, as the harness joins sentences by spaces. Each is written through the
guard: an equal fact is not written again, and a newer value hides the older one. The model of the
configuration answers a question from the first hits of `echoless.search`.

The harness gives the agent: `agent_name`, `agent_save_to_folder`, `sub_dataset`, `model`,
`temperature`, `max_tokens`, `_create_oai_client`, `_extract_retrieval_query`.
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

FACT = re.compile(r"(?:^|\s)(\d+)\.\s+(\S.*?)(?=\s+\d+\.\s|\s*\Z)", re.DOTALL)
"""A fact of FactConsolidation behind its number, up to the next number or the end."""
START = datetime(2026, 1, 1, tzinfo=UTC)
"""Time of the fact 0; the others follow by the second, by their numbers."""


def initialize_echoless_agent(agent: Any, agent_config: dict[str, Any]) -> None:
    """Makes the store, and sets up what `handle_echoless_agent` needs.

    Args:
        agent: Of the harness.
        agent_config: Its configuration, read from YAML.
    """
    folder = Path(agent.agent_save_to_folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("echoless.db*"):
        old.unlink()
    agent.store = f"sqlite:///{folder}/echoless.db"
    agent.retrieve_num = agent_config["retrieve_num"]
    agent.began, agent.next_number = time.time(), 0


def handle_echoless_agent(
    agent: Any, message: str, memorizing: bool, query_id: object, context_id: object
) -> Any:
    """Stores a message, or answers it from what is stored.

    Args:
        agent: Of the harness.
        message: A part of the context, or a question.
        memorizing: Whether it is to be stored.
        query_id: Of a question; not used.
        context_id: The harness gives it with questions alone; not used.

    Returns:
        A word where it was stored, else the answer with tokens and seconds, as it is kept there.
    """
    del query_id, context_id
    with echoless.open_store(agent.store, create=True) as store:
        if memorizing:
            _remember(agent, store, message)
            return "Memorized"
        return _answer(agent, store, message)


def _facts(agent: Any, message: str) -> Iterator[tuple[int, str]]:
    """Yields the numbered facts of a message; one without numbers is a fact of the next number."""
    found = [(int(number), fact) for number, fact in FACT.findall(message)]
    yield from found or [(agent.next_number, message.strip())]


def _remember(agent: Any, store: echoless.Store, message: str) -> None:
    facts = [*_facts(agent, message)]
    agent.next_number = max(number for number, _ in facts) + 1
    requests: list[tuple[str, Any]] = [
        (
            fact,
            {
                "created_at": (START + timedelta(seconds=number)).isoformat(),
                "supersede": True,
                "unsure": "admit",
            },
        )
        for number, fact in facts
    ]
    with echoless.Guard(store) as guard:
        for said in guard.remember_many(requests):
            if isinstance(said, echoless.EcholessError):
                raise said


def _number(memory: echoless.Memory) -> int:
    """Returns the number of a fact: the task says that a newer one has a larger number."""
    return int((datetime.fromisoformat(str(memory.created_at)) - START).total_seconds())


def _answer(agent: Any, store: echoless.Store, message: str) -> dict[str, Any]:
    begun, memorised = time.time(), time.time() - agent.began
    query = agent._extract_retrieval_query(message)  # noqa: SLF001 - so its own agents ask
    hits = echoless.search(store, query, limit=agent.retrieve_num).hits
    context = [f"{_number(hit.memory)}. {hit.memory.content}\n" for hit in hits]
    shown = "\n".join(f"Memory {place}:\n{text}" for place, text in enumerate(context, 1))
    system = get_template(agent.sub_dataset, "system", agent.agent_name)
    client = agent._create_oai_client()  # noqa: SLF001
    response = client.chat.completions.create(
        model=agent.model,
        messages=[
            {"role": "system", "content": system},
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

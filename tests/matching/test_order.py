"""The same words in another order: only where the order carries nothing."""

from __future__ import annotations

import pytest

from echoless import Memory
from echoless.core.model import Duplicate, Pair, Subsumes, Verdict
from echoless.matching.guards import judge_named

OTHER_MEANING = [
    ("Anna is Ben's mother.", "Ben is Anna's mother."),
    ("Anna is the manager's sister.", "The manager is Anna's sister."),
    ("The father of Tom is Max.", "The father of Max is Tom."),
    ("If the cache is cold, the API is slow.", "If the API is slow, the cache is cold."),
    ("Unless the flag is set, logging is on.", "Unless logging is on, the flag is set."),
    (
        "Wenn der Cache kalt ist, ist die API langsam.",
        "Wenn die API langsam ist, ist der Cache kalt.",
    ),
    ("The API is slow because the cache is cold.", "The cache is cold because the API is slow."),
    (
        "Ruth lent Sam her car, and Sam lent Ruth his bike.",
        "Sam lent Ruth her car, and Ruth lent Sam his bike.",
    ),
    ("There is tea for Ruth and coffee for Sam.", "There is tea for Sam and coffee for Ruth."),
    ("Red means stop and green means go.", "Green means stop and red means go."),
    ("host=db1 port=1, host=db2 port=2", "host=db1 port=2, host=db2 port=1"),
    ("The test passes locally but fails in CI.", "The test fails locally but passes in CI."),
    ("Only admins can delete users.", "Admins can only delete users."),
    ("Convert CSV to JSON.", "Convert JSON to CSV."),
    ("Max will visit Will in May.", "Will will visit Max in May."),
    ("りんごは冷蔵庫に、みかんは箱にある。", "みかんは冷蔵庫に、りんごは箱にある。"),
    ("田中さんは佐藤さんの上司です。", "佐藤さんは田中さんの上司です。"),
]


def verdict(one: str, other: str) -> Verdict:
    signals = {"semantic": 0.99, "lexical": 0.99}
    pair = Pair(Memory(id="a", content=one), Memory(id="b", content=other), signals)
    return judge_named("full").judge(pair)


@pytest.mark.parametrize(("one", "other"), OTHER_MEANING)
def test_an_order_that_carries_meaning_keeps_apart(one: str, other: str) -> None:
    assert not isinstance(verdict(one, other), Duplicate | Subsumes)
    assert not isinstance(verdict(other, one), Duplicate | Subsumes)

"""Classes of groups: what a person is told a group has in common."""

from pathlib import Path

import pytest

from echoless import Choices, Memory, open_store, resolve
from echoless.workflows.review.session import open_review

FIRST = "Heating of the kitchen was repaired by Olga after 30."


@pytest.mark.parametrize(
    ("second", "group_class"),
    [
        (FIRST, "same-text"),
        (f"- **{FIRST}**", "same-text"),
        (f"{FIRST} ", "same-text"),
        (FIRST.replace("30.", "30 min."), "says-more"),
    ],
)
def test_a_group_is_of_the_class_that_its_texts_show(
    tmp_path: Path, second: str, group_class: str
) -> None:
    with open_store(f"sqlite:///{tmp_path / 'memories.db'}", create=True) as store:
        with store.writing():
            store.put([Memory(id="m-1", content=FIRST), Memory(id="m-2", content=second)])
        session = open_review(store, resolve(Choices(encoder="none")))
        assert [item.group_class for item in session.items.values()] == [group_class]

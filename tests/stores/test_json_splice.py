"""Members of a JSON object change in its text: it stays JSON, and the others stay as written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.stores.json_splice import splice

KEYS = st.sampled_from(["a", "b,", "ü", "id", "content", "x}"])
VALUES = st.sampled_from(['"t, u"', "1.00", "null", "[1, {}]", '{"a": 2}', '""', '"}"'])
SPACE = st.sampled_from(["", " ", "\t", "  "])


@st.composite
def objects(draw: st.DrawFn) -> str:
    members = draw(st.lists(st.tuples(KEYS, VALUES), max_size=6))
    said = [f"{draw(SPACE)}{json.dumps(k)}{draw(SPACE)}:{draw(SPACE)}{v}" for k, v in members]
    return f"{draw(SPACE)}{{{','.join(said)}{draw(SPACE)}}}"


@given(objects(), st.dictionaries(KEYS, st.none() | VALUES, max_size=4))
def test_whatever_is_changed_it_is_json_and_says_the_rest_as_before(
    text: str, changes: dict[str, str | None]
) -> None:
    wanted = json.loads(text)
    for key, value in changes.items():
        if value is None:
            wanted.pop(key, None)
        else:
            wanted[key] = json.loads(value)
    made = splice(text, changes)
    assert json.loads(made) == wanted
    assert list(json.loads(made)) == list(wanted)
    assert made == text or changes


@pytest.mark.parametrize(
    ("text", "changes", "made"),
    [
        ('{"a":1,"b":2,"c":3}', {"b": None, "c": None}, '{"a":1}'),
        ('{"a": 1, "b": 2, "c": 3}', {"a": None, "b": None}, '{"c": 3}'),
        ('{"a": 1, "b": 2}', {"b": None, "c": "3"}, '{"a": 1, "c": 3}'),
        ('{"a": 1}', {"a": None, "c": "3"}, '{"c": 3}'),
        ('{"a": 1, "b": 2, "a": 3}', {"a": None}, '{"b": 2}'),
        ("{ }", {"a": "1", "b": "2"}, '{"a":1, "b":2 }'),
        ('{"a": 1.00 ,  "b": 2 }', {"b": "5"}, '{"a": 1.00 ,  "b": 5 }'),
    ],
)
def test_what_goes_takes_its_comma_along(
    text: str, changes: dict[str, str | None], made: str
) -> None:
    assert json.loads(splice(text, changes)) == json.loads(made)
    assert splice(text, changes).replace(" ", "") == made.replace(" ", "")

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from echoless import Memory, find, plan, read_plan, write_plan
from echoless.core.errors import PlanUnreadable, UsageError
from echoless.core.groups import Group, Membership
from echoless.core.model import Duplicate, Evidence, Judged, Link, Vector
from echoless.execution.actions import Rewrite
from echoless.execution.field_merge import Conflict, relinked, united
from echoless.execution.plan import Plan, PlanBasis, make_plan
from tests.conformance.stores import plan_by_hand, simple
from tests.conformance.strategies import worlds
from tests.laws.worlds import folder, quick, safe, world

BASIS = PlanBasis(store="s", url="u", profile="safe", settings="-")


@pytest.fixture
def made() -> Plan:
    with world("sqlite", [simple(1, tags=("a",)), simple(2, tags=("b",)), simple(3)]) as store:
        return plan_by_hand(store, [("m-1", "m-2")], "merge")


@quick
@given(told=worlds())
def test_a_plan_file_holds_the_whole_plan(told: list[Memory]) -> None:
    with world("jsonl", told) as store, folder() as place:
        preview = plan(find(store, safe(action="merge")))
        write_plan(preview, place / "plan.json")
        again = read_plan(place / "plan.json")
        assert again == preview
        assert again.digest == preview.digest


def test_a_plan_file_can_be_read_by_a_person(made: Plan, tmp_path: Path) -> None:
    write_plan(made, tmp_path / "plan.json")
    text = (tmp_path / "plan.json").read_text()
    (action,) = json.loads(text)["actions"]
    assert action["action"] == "merge"
    assert action["why"] == "by hand"
    assert action["preview"] == "Fact number 1 of the store."
    assert action["gains"] == {"tags": ["a", "b"]}
    assert action["members"][0]["evidence"] == "by hand"
    assert text.count("\n") > 20


def test_a_plan_file_holds_the_new_text_of_a_survivor(tmp_path: Path) -> None:
    new = Rewrite("Facts 1 and 2.", (Vector("model@1", b"\0\0\x80?"),), by="a person")
    with world("sqlite", [simple(1), simple(2)]) as store:
        made = plan_by_hand(store, [("m-1", "m-2")], "delete", {"m-1": new})
    write_plan(made, tmp_path / "plan.json")
    again = read_plan(tmp_path / "plan.json")
    assert again.actions[0].rewrite == new
    assert again.digest == made.digest


def test_a_mark_rewrites_nothing() -> None:
    with world("sqlite", [simple(1), simple(2)]) as store:
        with pytest.raises(UsageError, match="changes no record"):
            plan_by_hand(store, [("m-1", "m-2")], "mark", {"m-1": Rewrite("Another text.")})


def test_only_memories_that_agree_in_the_fields_of_the_partition_meet() -> None:
    text = "The staging database is backed up every night."
    told = [simple(n, text, extra={"role": role}) for n, role in ((1, "user"), (2, "agent"))]
    told.append(simple(3, text, extra={"role": "user"}))
    partition = ("namespace", "extra.role")
    settings = safe()
    settings = replace(settings, profile=replace(settings.profile, partition=partition))
    with world("sqlite", told) as store:
        groups = find(store, settings).groups
    assert [(group.survivor, *(m.id for m in group.members)) for group in groups] == [
        ("m-1", "m-3")
    ]


def test_an_existing_file_is_not_overwritten(made: Plan, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("mine")
    with pytest.raises(UsageError, match=r"plan\.json exists"):
        write_plan(made, tmp_path / "plan.json")
    assert (tmp_path / "plan.json").read_text() == "mine"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: "not json", "is not a plan"),
        (lambda d: "[]", "is not a plan"),
        (lambda d: json.dumps({"a": 1}), "is not a plan"),
        (lambda d: json.dumps({**d, "echoless_plan": 99}), "plan format 99"),
        (lambda d: json.dumps({k: v for k, v in d.items() if k != "actions"}), "is damaged"),
        (lambda d: json.dumps({**d, "actions": [{"action": "burn"}]}), "is damaged"),
        (lambda d: json.dumps(d).replace("m-2", "m-3"), "was edited"),
        (lambda d: json.dumps(d).replace('"merge"', '"delete"'), "was edited"),
    ],
)
def test_a_file_that_is_not_the_plan_as_written_is_refused(
    made: Plan, tmp_path: Path, change: object, says: str
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(change(made.to_json()))  # type: ignore[operator]
    with pytest.raises(PlanUnreadable, match=says):
        read_plan(path)


def test_a_missing_plan_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlanUnreadable, match=r"no plan file .*gone\.json"):
        read_plan(tmp_path / "gone.json")


def test_two_plans_of_the_same_records_do_the_same_and_are_two_plans() -> None:
    with world("sqlite", [simple(1, "Same."), simple(2, "Same.")]) as store:
        one, other = plan(find(store, safe())), plan(find(store, safe()))
    assert one.digest == other.digest
    assert one.id != other.id


def test_fields_can_be_left_as_they_are(tmp_path: Path) -> None:
    told = [simple(1, tags=("a",), metadata={"k": 1}), simple(2, tags=("b",), metadata={"n": 2})]
    memories = {m.id: m for m in told}
    judged = Judged("m-1", "m-2", Duplicate(Evidence("by-hand", "exact", 1.0)))

    def made(*untouched: str) -> Plan:
        return make_plan(
            [Group("m-1", (Membership("m-2", judged),))],
            memories.__getitem__,
            BASIS,
            action="merge",
            reasons={"m-1": "by hand"},
            untouched=untouched,
        )

    assert made().actions[0].gains.keys() == {"tags", "metadata"}
    plan = made("tags", "metadata")
    assert plan.actions[0].gains == {}
    write_plan(plan, tmp_path / "plan.json")
    assert read_plan(tmp_path / "plan.json") == plan
    with pytest.raises(UsageError, match="'content' cannot be left alone"):
        made("content")


def test_new_tags_make_a_sorted_union_and_known_ones_leave_the_order() -> None:
    one = Memory(id="m-1", content="x", tags=("b", "a"))
    assert united(one, [Memory(id="m-2", content="x", tags=("a",))])[0].tags == ("b", "a")
    assert united(one, [Memory(id="m-2", content="x", tags=("Ä", "aa"))])[0].tags == (
        *("a", "aa", "b", "Ä"),
    )


def test_of_graded_links_to_one_target_the_most_confident_stays_and_the_other_is_noted() -> None:
    def graded(target: str, confidence: float, kind: str = "similar") -> Link:
        return Link(target, kind, {"confidence": confidence})

    one = Memory(id="m-1", content="x", links=(graded("z", 0.5), Link("z", "similar", {"n": 1})))
    two = Memory(
        id="m-2",
        content="x",
        links=(graded("z", 0.9), graded("z", 0.4, "related"), graded("m-1", 1.0)),
    )
    new, conflicts = united(one, [two])
    assert new.links == (graded("z", 0.9), one.links[1], graded("z", 0.4, "related"))
    assert conflicts == (
        Conflict("m-1", "links", "similar.z", {"confidence": 0.9}, {"confidence": 0.5}),
    )
    third = Memory(id="m-3", content="y", links=(graded("m-1", 0.3), graded("m-2", 0.8)))
    assert relinked(third, {"m-2": "m-1"}).links == (graded("m-1", 0.8),)


def test_what_must_stay_is_marked_where_the_others_are_deleted() -> None:
    told = [Memory(id=f"m-{n}", content="One fact.") for n in range(1, 4)]
    same = Duplicate(Evidence("by-hand", "exact", 1.0))
    members = tuple(Membership(i, Judged("m-1", i, same)) for i in ("m-2", "m-3"))

    def planned(rewrites: dict[str, Rewrite] | None = None, *more: str) -> Plan:
        return make_plan(
            [Group("m-1", members)],
            {m.id: m for m in told}.__getitem__,
            replace(BASIS, retained=dict.fromkeys(("m-2", *more), "something refers to it")),
            action="delete",
            reasons={"m-1": "by hand"},
            rewrites=rewrites,
        )

    kept, gone = planned().actions
    assert (kept.kind, kept.ids, gone.kind, gone.ids) == (
        "mark", ("m-1", "m-2"), "delete", ("m-1", "m-3"),
    )  # fmt: skip
    assert planned().counts == {"groups": 1, "mark": 1, "merge": 0, "delete": 1, "edit": 0}
    assert [a.kind for a in planned(None, "m-3").actions] == ["mark"]
    assert [a.kind for a in planned({"m-1": Rewrite("A fact.")}).actions] == ["merge"]

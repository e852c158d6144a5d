"""Texts of the same words, told apart by where they stand, by a sign, or by one small word."""

import pytest

from echoless import Memory, Subsumes
from echoless.workflows.pairs import Question, Ruling, judge_pairs


def _ruled(a: str, b: str, at: tuple[str | None, str | None] = (None, None)) -> Ruling:
    asked = Question(
        "1",
        Memory(id="a", content=a, created_at=at[0]),
        Memory(id="b", content=b, created_at=at[1]),
    )
    (ruling,) = judge_pairs([asked], encoder="none")
    return ruling


def _same(a: str, b: str) -> bool:
    there, back = _ruled(a, b).merge, _ruled(b, a).merge
    assert there == back
    return there


BEHIND_ANOTHER_LABEL = [
    ("Owner: Anna. Reviewer: Ben.", "Owner: Ben. Reviewer: Anna."),
    ("Primary: db1, replica: db2", "Primary: db2, replica: db1"),
    ("Done: login. Todo: logout.", "Done: logout. Todo: login."),
    (
        "Chosen: Kafka. Rejected: RabbitMQ and NATS.",
        "Chosen: NATS. Rejected: RabbitMQ and Kafka.",
    ),
    ("Allergies: Tom (nuts), Eva (milk).", "Allergies: Tom (milk), Eva (nuts)."),
    ("Meeting: Anna (host), Ben, Cem", "Meeting: Anna, Ben (host), Cem"),
    ("Input: JSON, output: XML", "Input: XML, output: JSON"),
    ('{"src": "alpha", "dst": "beta"}', '{"src": "beta", "dst": "alpha"}'),
    ("dev: alice\nprod: bob", "dev: bob\nprod: alice"),
    ("Old name: foo, new name: bar", "Old name: bar, new name: foo"),
    ("Besitzer: Anna, Prüfer: Ben", "Besitzer: Ben, Prüfer: Anna"),
    ("担当：田中、確認：佐藤", "担当：佐藤、確認：田中"),
    ("- [x] call Anna\n- [ ] call Ben", "- [ ] call Anna\n- [x] call Ben"),
    ("Blocked — checkout; shipped — search", "Blocked — search; shipped — checkout"),
    ("eu [active], us [standby]", "eu [standby], us [active]"),
    (
        "Branches: main (protected), dev, old (protected)",
        "Branches: main (protected), dev (protected), old",
    ),
    ("cpu: high, mem: low, disk: low", "cpu: low, mem: high, disk: low"),
    (
        "Read: everyone. Write: admins. Delete: admins.",
        "Read: admins. Write: everyone. Delete: admins.",
    ),
]


@pytest.mark.parametrize(("a", "b"), BEHIND_ANOTHER_LABEL)
def test_what_stands_behind_another_label_is_another_fact(a: str, b: str) -> None:
    assert not _same(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (
            "Do:\n- squash commits\nDon't:\n- force push",
            "Do:\n- force push\nDon't:\n- squash commits",
        ),
        ("# Blocked\ncheckout\n# Shipped\nsearch", "# Blocked\nsearch\n# Shipped\ncheckout"),
        ("Active\n- eu-west-1\nStandby\n- us-east-1", "Active\n- us-east-1\nStandby\n- eu-west-1"),
        (
            "[server]\nhost = alpha\n[client]\nhost = beta",
            "[server]\nhost = beta\n[client]\nhost = alpha",
        ),
        ("Ana, room 12; Bo, room 14", "Ana, room 14; Bo, room 12"),
        ("prod:\n  replicas: 3\ndev:\n  replicas: 1", "prod:\n  replicas: 1\ndev:\n  replicas: 3"),
        (
            '{"prod": {"host": "alpha"}, "dev": {"host": "beta"}}',
            '{"prod": {"host": "beta"}, "dev": {"host": "alpha"}}',
        ),
        ("name,role\nana,dev\nbo,ops", "name,role\nana,ops\nbo,dev"),
        ("Found by Ana. Bo fixed it.", "Found by Bo. Ana fixed it."),
        (
            "Ask before deleting, don't ask before creating.",
            "Ask before creating, don't ask before deleting.",
        ),
        ("Instead of axios use fetch.", "Use axios instead of fetch."),
        ("The layers are base, vendor, app.", "The layers are app, base, vendor."),
    ],
)
def test_what_stands_together_stays_together(a: str, b: str) -> None:
    assert not _same(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("- [x] **login**\n- [ ] logout", "- [x] login;\n- [ ] logout"),
        ("Use open(path, 'r').", 'Use open(path, "r").'),
        ("A 27 inch monitor", "A 27-inch monitor"),
        ("Gravity is 9.81 m/s^2", "Gravity is 9.81 m/s²"),
    ],
)
def test_the_same_in_another_layout_is_the_same(a: str, b: str) -> None:
    assert _same(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The cost is 5, the price is 9.", "The price is 5, the cost is 9."),
        ("The price exceeds the cost.", "The cost exceeds the price."),
        ("Margin = price - cost", "Margin = cost - price"),
    ],
)
def test_words_of_one_meaning_are_two_where_a_text_has_both(a: str, b: str) -> None:
    assert not _same(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("def f(a, b): return a - b", "def f(a, b): return b - a"),
        ("copy a to b", "copy b to a"),
        ("cp a b", "cp b a"),
        ("key=a value=b", "key=b value=a"),
        ("isinstance(a, b)", "isinstance(b, a)"),
        ("f(g(x))", "g(f(x))"),
        ("The type is Dict[str, int].", "The type is Dict[int, str]."),
        ("Option a is approved.", "The option is approved."),
        ("const [state, setState]", "const [setState, state]"),
        ("for key, value in items", "for value, key in items"),
        ("Callable[[int], str]", "Callable[[str], int]"),
        ("Func<string, bool>", "Func<bool, string>"),
        ("The check is !ready || done", "The check is ready || !done"),
        ("The type is str | None", "The type is str & None"),
    ],
)
def test_code_and_its_letters_are_taken_as_written(a: str, b: str) -> None:
    assert not _same(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The PIN is 0042.", "The PIN is 42."),
        ("ZIP 01234", "ZIP 1234"),
        ("The shelf is 30 cm wide.", "The shelf is 30 in wide."),
        ("The table is 3 ft long.", "The table is 3 in long."),
        ("A 27 in monitor", "A 27 cm monitor"),
        ('A 27" monitor', "A 27' monitor"),
        ("Speed is 5 m/s.", "Speed is 5 m/s²."),
        ("git show HEAD^", "git show HEAD^^"),
        ("Compare main..dev first.", "Compare main...dev first."),
        ("The regex is [a-z]+", "The regex is [A-Z]+"),
        ("Take x[1:] of it.", "Take x[:1] of it."),
        ("Mood: :)", "Mood: :("),
        ("The link has 100 Mb/s", "The link has 100 MB/s"),
        ("Read chapters 1 to 3.", "Read chapters 1 and 3."),
        ("Open Mon to Fri.", "Open Mon and Fri."),
        ("Few people know the code.", "A few people know the code."),
        ("The migration is finished.", "The migration is to be finished."),
        ("The user used to smoke.", "The user is used to smoke."),
        ("User's father is a nurse.", "User's father has a nurse."),
        ("Die Miete stieg von 800 auf 900 Euro.", "Die Miete stieg auf 800 von 900 Euro."),
    ],
)
def test_numbers_units_and_signs_are_taken_as_written(a: str, b: str) -> None:
    assert not _same(a, b)


def test_a_number_of_two_digits_may_be_filled_up() -> None:
    assert _same("Phase 01 is done.", "Phase 1 is done.")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The server is complaint.", "The server is compliant."),
        ("The statue was signed in Rome.", "The statute was signed in Rome."),
        ("The mortality is high.", "The morality is high."),
        ("Marie mange du poisson.", "Marie mange du poison."),
        ("Le cousin est arrivé.", "Le coussin est arrivé."),
        ("Die Kirche ist rot.", "Die Kirsche ist rot."),
    ],
)
def test_two_real_words_are_no_slip_of_the_pen(a: str, b: str) -> None:
    assert not _same(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Meeting with Kim in 3 days", "Meeting with Kim 3 days ago"),
        ("Deploy in 2 hours", "Deploy for 2 hours"),
        ("Kim arrives in 2 days", "Kim arrives within 2 days"),
        ("Der Vertrag endet in zwei Wochen.", "Der Vertrag endet seit zwei Wochen."),
    ],
)
def test_a_span_of_time_goes_forward_or_back(a: str, b: str) -> None:
    assert not _same(a, b)


@pytest.mark.parametrize(
    ("exact", "plain"),
    [
        ("Timeout is 30 s.", "Timeout is 30."),
        ("The rent is 900 euros.", "The rent is 900."),
        ("Choir is at 8 pm.", "Choir is at eight."),
    ],
)
def test_a_value_with_its_unit_says_more_and_survives(exact: str, plain: str) -> None:
    for a, b, richer in ((exact, plain, "a"), (plain, exact, "b")):
        verdict = _ruled(a, b).verdict
        assert isinstance(verdict, Subsumes)
        assert verdict.superset == richer


EARLY, LATE = "2026-03-03T10:00:00Z", "2026-04-25T10:00:00Z"


@pytest.mark.parametrize(
    "text",
    [
        "The build failed this morning.",
        "The build failed last night.",
        "The build failed an hour ago.",
        "Anna is on vacation this week.",
        "The budget is tight this month.",
        "Der Test lief letzte Nacht.",
        "Vor einer Stunde fiel der Strom aus.",
        "今朝ビルドが失敗した。",
        "Ayer se cayó el servidor.",
    ],
)
def test_what_is_told_from_its_day_on_is_another_thing_weeks_later(text: str) -> None:
    assert _ruled(text, text, (EARLY, EARLY)).merge
    assert not _ruled(text, text, (EARLY, LATE)).merge


def test_a_week_is_one_all_its_days() -> None:
    text = "Anna is on vacation this week."
    assert _ruled(text, text, ("2026-03-03T10:00:00Z", "2026-03-05T10:00:00Z")).merge

"""The same value in another form has the same key or is matched loosely; another value never is."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.matching.comparison import compare
from echoless.matching.facts import anchored, extraction, facts_of
from echoless.matching.languages import lexicon, units
from echoless.matching.values import quantities, relative_dates
from echoless.matching.values.scanner import scan
from echoless.matching.values.tokens import (
    ClockTime,
    Day,
    DialTime,
    EitherDay,
    Kind,
    Month,
    Number,
    Ordinal,
    Quantity,
    Token,
    Unit,
    Value,
    WordClass,
    Year,
)

VALUES = {Kind.NUMBER, Kind.UNIT, Kind.DATE, Kind.VERSION, Kind.IDENTIFIER, Kind.PATH}


LETTERS = {
    Number: "n:",
    Quantity: "q:",
    Unit: "u:",
    Ordinal: "#",
    Day: "d:",
    EitherDay: "d:",
    Month: "m:",
    Year: "y:",
    ClockTime: "t:",
    DialTime: "c:",
    WordClass: "!",
}


def short(value: Value) -> str:
    """A value as the tables of this file write it."""
    text = f"{value.factor} {value.base}" if isinstance(value, Unit) else str(value)
    return LETTERS.get(type(value), "") + text


def has_value(token: Token) -> bool:
    return token.kind in VALUES or isinstance(token.value, Ordinal)


def values_of(text: str) -> list[str]:
    return sorted(short(t.value) for t in facts_of(text).tokens if has_value(t))


def values_in_order(text: str) -> list[Value]:
    return [token.value for token in facts_of(text).tokens]


def values_left(a: str, b: str) -> tuple[list[str], list[str]]:
    """Values without a counterpart."""
    found = compare(facts_of(a), facts_of(b))
    left, right = (
        [short(t.value) for t in side if has_value(t)] for side in (found.only_a, found.only_b)
    )
    return left, right


def has_no_rest(a: str, b: str) -> bool:
    return values_left(a, b) == ([], [])


def test_no_before_a_figure_is_a_number_sign_and_denies_nothing() -> None:
    assert WordClass("not") not in values_in_order("Mr Ilves (no. 14) has the key")
    assert WordClass("not") in values_in_order("There are no 5 GHz radios")


SAME_KEYS = {
    "clock-colon": ("It opens at 15:00", "It opens at 3 pm"),
    "clock-point": ("Tea is at 2.30 pm", "Tea is at 14:30"),
    "clock-meridiem-first": ("月曜AM7:00に再起動", "月曜午前7時に再起動"),
    "clock-in-words": ("She rises at six in the morning", "She rises at 6 am"),
    "clock-at-night": ("Seats until ten at night", "Seats until 10 pm"),
    "clock-half-with-part": ("Due at half past four in the afternoon", "Due at 16:30"),
    "clock-quarter-with-part": ("Due at quarter past eight in the morning", "Due at 08:15"),
    "clock-minutes-to": ("It is eight minutes to ten in the evening", "It is 21:52"),
    "clock-half-unmarked": ("Start at half past seven", "Start at seven thirty"),
    "clock-de-digits": ("Wir treffen uns um 10 Uhr", "Wir treffen uns um 10:00"),
    "clock-de-words": ("Wir bohren ab neun Uhr", "Wir bohren ab 9 Uhr"),
    "clock-de-part": ("Das ist um vier Uhr nachmittags", "Das ist um 16 Uhr"),
    "clock-de-half": ("Das ist um halb acht abends", "Das ist um 19:30 Uhr"),
    "clock-de-quarter": ("Das ist um Viertel nach drei nachmittags", "Das ist um 15:15 Uhr"),
    "clock-ja-half": ("午前3時半に始まる", "03:30に始まる"),
    "clock-ja-morning": ("朝7時に起きる", "午前7時に起きる"),
    "clock-ja-night": ("夜9時に閉まる", "21:00に閉まる"),
    "clock-ja-kanji": ("午後二時に閉まる", "14時に閉まる"),
    "clock-shared-meridiem": ("Pages between 2 and 4 am", "Pages between 02:00 and 04:00"),
    "clock-range-meridiem": ("Open from 8 to 10 pm", "Open from 20:00 to 22:00"),
    "clock-range-over-noon": ("Open from 10 to 2 pm", "Open from 10:00 to 14:00"),
    "clock-range-hyphen": ("Offen 9-18 Uhr", "Offen von 9 bis 18 Uhr"),
    "clock-range-ja": ("午後5時から7時まで", "17時から19時まで"),
    "clock-range-dash-de": ("Wir haben Mo-Fr 9-18 Uhr auf", "Wir haben Mo–Fr 9–18 Uhr auf"),
    "clock-de-minutes": ("Der Bus geht um 8 Uhr 30", "Der Bus geht um 8:30 Uhr"),
    "clock-de-before": ("Der Bus geht um fünf vor acht", "Der Bus geht um 5 Minuten vor acht"),
    "clock-half-british": ("Meet at half eight", "Meet at half past eight"),
    "hours-hyphen-or-dash": ("Mon to Fri 9-18", "Mon to Fri 9–18"),
    "timestamp": ("Seen 2025-02-11T07:14:09Z", "Seen 2025-02-11 07:14:09"),
    "quarter-of-an-hour": ("Wait a quarter of an hour", "Wait 15 minutes"),
    "half-an-hour": ("Wait half an hour", "Wait 30 min"),
    "three-quarters": ("Wait three quarters of an hour", "Wait 45 minutes"),
    "hour-and-a-half": ("It takes an hour and a half", "It takes 90 minutes"),
    "two-and-a-half": ("It takes two and a half hours", "It takes 150 minutes"),
    "mixed-fraction": ("It takes 2½ hours", "It takes 2.5 hours"),
    "compound-time": ("Bake it for 4 h 30 min", "Bake it for 270 minutes"),
    "compound-time-words": ("Bake for two hours and ten minutes", "Bake for 130 min"),
    "compact-time": ("It takes 1h30m", "It takes 90 minutes"),
    "iso-duration": ("It takes PT90S", "It takes 90 s"),
    "weeks-and-days": ("He was away two weeks and three days", "He was away 17 days"),
    "de-million": ("Das kostet 3,5 Mio Euro", "Das kostet 3.500.000 €"),
    "de-eineinhalb": ("Das dauert eineinhalb Stunden", "Das dauert 90 Minuten"),
    "de-halbe": ("Das dauert eine halbe Stunde", "Das dauert 30 Minuten"),
    "de-viertelstunde": ("Das dauert eine Viertelstunde", "Das dauert 15 Minuten"),
    "de-decimal-comma": ("Die Platte ist 2,85 m lang", "Die Platte ist 285 cm lang"),
    "de-number-word": ("Das kostet zwölfeinhalbtausend Euro", "Das kostet 12.500 €"),
    "de-number-compound": ("Es sind fünfundzwanzig Kinder", "Es sind 25 Kinder"),
    "ja-hour-and-half": ("1時間半で止まる", "90分で止まる"),
    "ja-half-hour": ("半時間で止まる", "30分で止まる"),
    "ja-months": ("12か月で期限", "一年で期限"),
    "ja-ten-minutes": ("十分間待つ", "10分待つ"),
    "ja-counter-kanji": ("一枚だけ使う", "1枚だけ使う"),
    "ja-people": ("二名が参加する", "2人が参加する"),
    "ja-floor": ("三階にある", "3階にある"),
    "ja-percent": ("濃度5%で運転", "濃度5パーセントで運転"),
    "ja-volume": ("交換水は1.5L", "交換水は1500mL"),
    "ja-mass": ("朝30gを与える", "朝0.03kgを与える"),
    "metres": ("The riser is 1.8 m wide", "The riser is 180 cm wide"),
    "metres-thousands": ("A run of 10,000 m", "A run of 10 km"),
    "grams": ("It weighs 450 g", "It weighs 0.45 kg"),
    "litres": ("It holds 3000 L", "It holds 3000 litres"),
    "area-words": ("It covers 2,500 square centimetres", "It covers 0.25 m²"),
    "tonnes": ("It carries 0.45 tonnes", "It carries 450 kg"),
    "minus": ("Es hält minus achtzig Grad Celsius", "Es hält -80 °C"),
    "minus-sign": ("It is −5 °C", "It is minus five degrees Celsius"),
    "hyphenated": ("A thirty-day window", "A window of 30 days"),
    "hundred": ("One hundred and twenty rows", "120 rows"),
    "billions": ("A model with ~40B weights", "A model with 40 billion weights"),
    "a-quarter": ("A quarter of the rows fail", "1/4 of the rows fail"),
    "thirds-ja": ("三分の一を残す", "1/3を残す"),
    "per-hour": ("The rate is 65 €/h", "The rate is 65 € an hour"),
    "shared-unit": ("It takes 5-10 minutes", "It takes 5 to 10 minutes"),
    "slashed-day-first": ("Live on 17/07/2025", "Live on July 17, 2025"),
    "slashed-month-first": ("Live on 07/17/2025", "Live on 17 July 2025"),
    "ordinal-of-month": ("Born on the third of June", "Born on 3 June"),
    "month-the-ordinal": ("Born on June the twenty-first", "Born on June 21st"),
    "abbreviated": ("Due 4 Mar", "Due March 4th"),
    "range-of-days": ("Away 3 to 5 March", "Away March 3 to March 5"),
    "ordinal-de": ("Die Frist ist der 10. des Monats", "The deadline is the 10th of the months"),
    "dotted-de": ("Das Fest ist am 5.2. im Saal", "Das Fest ist am 5. Februar im Saal"),
    "dotted-year-de": ("Das Fest ist am 05.02.2027", "Das Fest ist am 5. Februar 2027"),
    "era": ("令和8年4月1日に開始", "2026/04/01に開始"),
    "kanji-month": ("六月に始まる", "6月に始まる"),
    "weekday-range-de": ("Offen Mo-Fr im Winter", "Offen Montag bis Freitag im Winter"),
    "weekday-list-de": ("Training Di und Do", "Training dienstags und donnerstags"),
    "weekday-range-en": ("Open Mon–Fri", "Open Monday to Friday"),
    "inch-behind-digits": ("The screen has 27in", "The screen has 27 inches"),
    "tonnes-behind-digits": ("Der Kran hebt 5 t", "Der Kran hebt 5 Tonnen"),
    "weekday-list-ja": ("月・水・金に開く", "月曜・水曜・金曜に開く"),
}  # fmt: skip


@pytest.mark.parametrize(("a", "b"), SAME_KEYS.values(), ids=SAME_KEYS.keys())
def test_one_value_in_two_forms_has_one_key(a: str, b: str) -> None:
    assert values_of(a) == values_of(b) != []


@pytest.mark.parametrize("language", ["en", "de", "ja"])
def test_whatever_may_stand_behind_digits_as_a_unit_is_known(language: str) -> None:
    lex = lexicon(language)
    spelled = {each for unit in units() for each in (unit, unit.upper(), unit.title())}
    for unit in sorted(spelled | set("dglLVWvwmt") | {"in", "Mon", "mon"}):
        for text in (
            f"5{unit}",
            f"5 {unit}",
            f"5-{unit}",
            f"€5/{unit}",
            f"5 kg/{unit}",
            f"1/2 {unit}",
        ):
            assert list(scan(text, lex)), text


LOOSE = {
    "dial-and-day": ("The break is at half past eight", "The break is at 20:30"),
    "oclock-and-day": ("Home by seven o'clock", "Home by 19:00"),
    "bare-hour": ("The kids sleep at eight", "The kids sleep at 8 pm"),
    "bare-hour-by": ("No screens by seven", "No screens by 7 pm"),
    "opening-hours": ("Sat open 9-18", "Sat open from 9:00 to 18:00"),
    "bare-hour-de": ("Er kommt um elf", "Er kommt um 11 Uhr"),
    "bare-hours": ("Closed from 12 to 2", "Closed from noon to 14:00"),
    "pointed-hour": ("It closes 5.30 Sat", "It closes at half past five on Saturday"),
    "halb-unmarked": ("Der Kurier kommt um halb zwölf", "Der Kurier kommt um 11:30 Uhr"),
    "zones": ("Live at 18:00 UTC", "Live at 8 pm CEST"),
    "a-week": ("Ask her a week before", "Ask her seven days before"),
    "an-hour-de": ("Es dauert eine Stunde", "It takes 1 hour"),
    "an-hour-ja": ("一時間煮る", "Boil for an hour"),
    "percent-fraction": ("A quarter of rows fail", "25 % of rows fail"),
    "percent-decimal": ("A share of 0.25 fails", "A share of 25 % fails"),
    "fifth": ("A fifth of the trees are sick", "20 % of the trees are sick"),
    "one-in-twenty": ("It fails one run in twenty.", "It fails in 5 % of runs."),
    "half": ("Half of the rows fail", "50 % of the rows fail"),
    "unit-said-once": ("From 50 s to 3 s", "To 3 seconds rather than the 50"),
    "plural-of-a-code": ("Most 403s come from clocks", "Most errors are 403"),
    "degrees": ("Keep 18 degrees at night", "Keep 18 °C at night"),
    "times-ja": ("5回間違える", "五度間違える"),
    "number-ja": ("エラー140が出る", "140番のエラーが出る"),
    "words-ja": ("三万から六万に増やす", "3万語から6万語に増やす"),
    "things-ja": ("スペース4つ", "four spaces"),
    "minutes-short": ("timeout=10m", "timeout=10 min"),
    "slashed-either": ("Live on 08/03/2025", "Live on 8 March 2025"),
    "slashed-either-way": ("Live on 08/03/2025", "Live on 3 August 2025"),
    "slashed-ja": ("バッチが4/12に落ちた", "バッチが4月12日に落ちた"),
    "pointed-de": ("Das Fest: 5.2", "Das Fest: 5. Februar"),
    "end-of-day": ("Send the EOD report", "Send the end-of-day report"),
    "compound-de": ("Wir nehmen A4-Schrauben", "Wir nehmen Schrauben A4"),
    "single-month-de": ("Die Frist beträgt 6 Mon.", "Die Frist beträgt sechs Monate."),
}  # fmt: skip


@pytest.mark.parametrize(("a", "b"), LOOSE.values(), ids=LOOSE.keys())
def test_a_value_said_less_exactly_is_matched_loosely(a: str, b: str) -> None:
    assert has_no_rest(a, b)
    assert has_no_rest(b, a)


APART = {
    "am-pm": ("Tea at 8 am", "Tea at 8 pm"),
    "explicit-halves": ("Tea at 8:30", "Tea at 20:30"),
    "uhr": ("Es ist um 7 Uhr", "Es ist um 19 Uhr"),
    "seconds-of-a-time": ("Seen at 10:00:05", "Seen at 10:00:06"),
    "timestamps": ("Seen 2025-02-11T07:14:09Z", "Seen 2025-02-11T07:41:09Z"),
    "half-past-and-to": ("Start at half past seven", "Start at 18:30"),
    "halb-is-before": ("Der Kurier kommt um halb zwölf", "Der Kurier kommt um 12:30 Uhr"),
    "quarter-past-and-to": ("Start at quarter past six", "Start at quarter to six"),
    "parts-of-day": ("Call at six in the morning", "Call at six in the evening"),
    "night-ja": ("夜9時に閉まる", "朝9時に閉まる"),
    "quarters": ("Wait a quarter of an hour", "Wait three quarters of an hour"),
    "half-and-whole": ("Wait half an hour", "Wait an hour and a half"),
    "units": ("It takes 30 s", "It takes 30 min"),
    "percent-and-number": ("It fails for 5 % of rows", "It fails for 5 of rows in 30 s"),
    "week-and-day": ("Ask her a week before", "Ask her a day before"),
    "squared": ("It covers 4 m", "It covers 4 m²"),
    "minus": ("It is minus five degrees", "It is five degrees"),
    "thirds": ("A third of the rows fail", "Two thirds of the rows fail"),
    "slashed": ("Live on 17/07/2025", "Live on 18/07/2025"),
    "slashed-impossible": ("Live on 08/03/2025", "Live on 8 April 2025"),
    "days-of-month": ("Due on the 10th", "Due on the 11th"),
    "eras": ("令和8年に開始", "令和7年に開始"),
    "weekdays-de": ("Offen Mo-Fr im Winter", "Offen Mo-Sa im Winter"),
    "counts-and-times": ("The trip takes six hours", "The trip takes six orders"),
    "label-and-count": ("Page seven lists rules", "Seven minutes later"),
    "zones": ("Live at 18:00 UTC", "Live at 8:15 pm CEST"),
    "zones-without-one": ("Live at 18:00 UTC", "Live at 20:00"),
    "levels": ("It uses LOD2 meshes", "It uses level-of-detail 3 meshes"),
    "priorities": ("A P1 in prod", "A priority-two in prod"),
    "not-a-priority": ("P1 is open", "Port 2 is open"),
    "versions": ("Use 1.10 of it", "Use 1.1 of it"),
    "year-and-number": ("In 2024 it broke", "In 2025 it broke"),
    "ranges": ("It takes 5-10 minutes", "It takes 5-20 minutes"),
    "dotted-and-hyphenated": ("Topic playback.errors fills up", "Topic playback-errors fills up"),
    "underscored-and-hyphenated": ("Queue dead_letter is full", "Queue dead-letter is full"),
    "paths": ("See docs/a.md", "See docs/b.md"),
}  # fmt: skip


@pytest.mark.parametrize(("a", "b"), APART.values(), ids=APART.keys())
def test_another_value_keeps_something_on_both_sides(a: str, b: str) -> None:
    left, right = values_left(a, b)
    assert left or right
    assert values_of(a) != values_of(b)
    if len(values_of(a)) == len(values_of(b)):
        assert left
        assert right


READ_AS = {
    "path-stops-at-kana": ("Nodeのバージョンが.nvmrcと食い違う", [".nvmrc"]),
    "fraction-stops-at-kana": ("1/3より少ない", ["n:1/3"]),
    "date-behind-kana": ("バックアップの開始は2026/04/01", ["d:04-01", "y:2026"]),
    "url-stops-at-kana": ("https://a.example/bを参照する", ["https://a.example/b"]),
    "with-and-without": ("Tea w/o milk w/ sugar and/or lemon", []),
    "round-the-clock": ("Support is there 24/7", []),
    "two-names": ("We use Black/Flake here", []),
    "path-with-case": ("Open src/Main.py and /etc/Hosts/", ["/etc/Hosts/", "src/Main.py"]),
    "lower-case-path": ("Branch feature/login is gone", ["feature/login"]),
    "not-a-time": ("Platz 5 am Fenster ist frei", ["n:5"]),
    "not-a-month": ("At most 3 may enter the room", ["n:3"]),
    "enough-ja": ("十分に乾かす", []),
    "unit-needs-its-place": ("There are 5 in total", ["n:5"]),
    "so-is-no-sunday": ("So sagen wir es dem Kunden", []),
    "month-of-a-year": ("Report for 2025-03 is out", ["m:03", "y:2025"]),
    "five-to-ten": ("Five to ten people come", ["n:10", "n:5"]),
    "two-hundred": ("Rows two and ten are bad", ["n:10", "n:2"]),
    "a-score": ("He scored 10 to 5", ["n:10", "n:5"]),
    "minutes-to-a-place": ("Drive 10 minutes to two shops", ["n:2", "q:600 second"]),
    "a-gate": ("Leave through gate 9-18", ["n:18", "n:9"]),
    "may-of-a-year": ("The May 2025 report is out", ["m:05", "y:2025"]),
    "quarterly": ("Sales grew last quarter", ["u:3 month"]),
    "phone": ("Call 555-123", ["n:555-123"]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "values"), READ_AS.values(), ids=READ_AS.keys())
def test_what_only_looks_like_another_form_is_left_as_it_is(text: str, values: list[str]) -> None:
    assert values_of(text) == values


BODY = "Tokens for locums expire after 14 days"
FRAMES = {
    "ticket-note": f"[ticket note 00417] {BODY}",
    "field-note": f"## Field note 12\n> {BODY}",
    "numbered-with-agent": f"MEMORY #58 (studio-bot): {BODY}",
    "captured-session": f"Captured 2025-05-06 09:02, session 7f: {BODY}",
    "log-line": f'2025-02-11T07:14:09Z INFO agent=desk-bot memory="{BODY}"',
    "log-line-saved": f"2025-04-08T22:13:05Z oncall-bot INFO saved: {BODY}",
    "weekday-stamp": f"[Tue 14 Jan, 20:07] {BODY}",
    "hand-over": f"=== HANDOVER ===\nagent: desk-bot\ntopic: vpn\n{BODY}\n=== END ===",
    "tag": f'<memory id="3" at="2025-01-01">{BODY}</memory>',
    "client-note": f"Client note no. 12, recorded 2025-01-20: {BODY}",
    "hash-tags": f"{BODY}. #vpn #auth",
    "source": f"{BODY} (source: chat)",
    "first-hash-tag": f"#insight {BODY}",
    "json": f'{{"memory": "{BODY}"}}',
    "json-with-meta": f'{{"id": 4, "content": "{BODY}", "created_at": "2025-01-01"}}',
}  # fmt: skip


@pytest.mark.parametrize("framed", FRAMES.values(), ids=FRAMES.keys())
def test_a_frame_around_a_memory_is_taken_off(framed: str) -> None:
    assert values_in_order(framed) == values_in_order(BODY)


@pytest.mark.parametrize(
    ("frame", "body"),
    [
        ("Merke (automatisch erfasst am 02.04.2025): ", "Der Schlüssel hängt im Büro"),
        ("【自動保存 2025/04/02 09:11】", "培養器は37℃で運転している"),
    ],
)
def test_a_frame_in_another_language_is_taken_off(frame: str, body: str) -> None:
    assert values_in_order(frame + body) == values_in_order(body)


@pytest.mark.parametrize(
    "label",
    [
        "Ticket 37",
        "Order 12",
        "Issue 1093",
        "Run 118",
        "INC-3307",
        "Retro 2025-03-14",
        "Delivery note 123",
        "Credit note 7",
    ],
)
def test_a_label_that_speaks_of_a_thing_stays(label: str) -> None:
    assert values_in_order(f"{label}: {BODY}") != values_in_order(BODY)
    other = label.translate(str.maketrans("0123789", "1034698"))
    assert values_of(f"{label}: {BODY}") != values_of(f"{other}: {BODY}")


def test_a_channel_in_the_sentence_is_no_hash_tag() -> None:
    assert values_in_order("Post alerts in #ops") != values_in_order("Post alerts in #dev")


ANCHORED = {
    "tomorrow": ("Demo tomorrow", "2025-03-01", "Demo on 2 March 2025"),
    "utc": ("Demo tomorrow", "2025-03-02T01:00:00+03:00", "Demo on 2 March 2025"),
    "yesterday-de": ("Demo gestern für das Team", "2025-03-01", "Demo am 28.02.2025 für das Team"),
    "day-after": ("Demo the day after tomorrow", "2025-03-01", "Demo on 3 March 2025"),
    "in-days": ("Launch in two days", "2025-03-30", "Launch on 1 April 2025"),
    "ago": ("Launched two weeks ago", "2025-03-30", "Launched on 16 March 2025"),
    "ago-de": ("Das Fest war vor drei Tagen", "2025-03-01", "Das Fest war am 26. Februar 2025"),
    "next-weekday": ("Demo next Friday", "2025-03-08", "Demo on 14 March 2025"),
    "next-week-ja": ("来週の月曜日に会議", "2025-03-05", "2025年3月10日に会議"),
    "tomorrow-ja": ("明日の会議", "2025-03-05", "3月6日の会議"),
    "last-month": ("Sales fell last month", "2025-01-05", "Sales fell in December 2024"),
}  # fmt: skip


@pytest.mark.parametrize(("told", "when", "meant"), ANCHORED.values(), ids=ANCHORED.keys())
def test_a_day_told_from_the_writer_equals_the_day_it_means(
    told: str, when: str, meant: str
) -> None:
    other = facts_of(meant)
    facts = anchored(facts_of(told), when, beside=other)
    assert facts_of(told).relative
    dates = [
        sorted(short(v) for v in f.counts if isinstance(v, Day | EitherDay | Year | Month))
        for f in (facts, other)
    ]
    assert dates[0] == dates[1]


def test_the_same_words_of_other_days_are_other_days() -> None:
    facts = facts_of("Demo tomorrow")
    first, second = (anchored(facts, f"2025-03-0{day}") for day in (1, 2))
    assert first.counts != second.counts
    assert anchored(facts, "2025-03-01T09:00:00Z").counts == first.counts


def test_a_weekday_with_two_readings_stays_open() -> None:
    wednesday = anchored(facts_of("Demo last Monday"), "2025-03-05")
    assert wednesday.counts != anchored(facts_of("Demo on 3 March 2025"), None).counts
    assert wednesday.counts == anchored(facts_of("Demo last Monday"), "2025-03-06").counts
    assert wednesday.counts != anchored(facts_of("Demo last Monday"), "2025-03-12").counts


@pytest.mark.parametrize("when", [None, "", "no time", "99999-01-01", "9999-12-31", "0001-01-01"])
def test_without_a_usable_time_the_facts_stay(when: str | None) -> None:
    facts = facts_of("Demo tomorrow")
    assert anchored(facts, when) == facts


@pytest.mark.parametrize(
    "text",
    [
        "Demo on 2 March 2025",
        "The import takes two days in all",
        "Am Morgen joggt sie",
        "3日かかる",
    ],
)
def test_an_absolute_text_is_not_anchored(text: str) -> None:
    assert not facts_of(text).relative
    assert anchored(facts_of(text), "2025-03-01") == facts_of(text)


def test_a_text_that_grows_beyond_the_limit_when_normalised_is_capped_too() -> None:
    assert facts_of("\ufdfa" * 2_000).capped  # 18 characters each
    assert not facts_of("\ufdfa" * 200).capped


def test_a_word_of_many_apostrophes_is_read_as_words() -> None:
    tokens = facts_of("The printer of a" + "'s" * 5_000 + " waits.").tokens
    assert {"printer", "waits"} <= {token.text for token in tokens}


@pytest.mark.parametrize(("times", "sums"), [(3, 1), (20, 1), (100, 5)])
def test_half_days_are_added_up_to_a_bound(times: int, sums: int) -> None:
    assert len(facts_of("半日 " * times).tokens) == sums


def test_a_unit_is_read_at_the_end_of_a_long_number() -> None:
    assert quantities.unit_of("9" * 400 + " min") == "min"
    assert quantities.unit_of("1 square millimetres") == "square millimetres"


TIMES = st.sampled_from(
    [
        "today",
        "the day after tomorrow",
        "this morning",
        "this weekend",
        "this week",
        "last night",
        "next Monday",
        "coming week",
        "year",
        "in two days",
        "a week ago",
        "3 hours ago",
        "later",
        "before",
        "fixed the server",
        "heute",
        "diesen Abend",
        "gestern",
        "nächste Woche",
        "vor drei Tagen",
        "vor einer Stunde",
        "Montag",
        "2日前",
        "来週の",
        "月曜日",
    ]
)


@given(st.lists(TIMES, max_size=12).map(" ".join), st.integers(0, 400))
def test_relative_days_are_read_from_the_tokens_that_may_lead_one(text: str, days: int) -> None:
    facts, day = facts_of(text), date(2026, 1, 1) + timedelta(days=days)
    told = relative_dates._relative(facts.tokens, facts.language, day)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relative_dates, "_leads", lambda tokens, *_: range(len(tokens)))
        assert relative_dates._relative(facts.tokens, facts.language, day) == told


@given(st.text("1. )|-=:+a\t\n", max_size=20))
def test_marks_of_lines_are_taken_off_one_line_as_off_many(text: str) -> None:
    expected = extraction._ENUMERATOR.sub("", extraction._RULE.sub("", text))
    assert extraction._without_line_marks(text) == expected

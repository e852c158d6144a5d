from __future__ import annotations

from pathlib import Path

import pytest

from echoless.core.errors import InputError, UsageError
from echoless.core.settings import Choices, layered, resolve


def test_flags_outrank_the_environment_and_that_the_file(tmp_path: Path) -> None:
    (tmp_path / "echoless.toml").write_text(
        'profile = "wt-memory"\nsurvivor = "oldest"\nencoder = "none"\nthreshold = ["sequence=0.8"]'
    )
    environment = {"ECHOLESS_SURVIVOR": "newest", "ECHOLESS_ENCODER": "stored"}
    choices = layered(Choices(encoder="fast"), folder=tmp_path, environment=environment)
    settings = resolve(choices)
    assert settings.profile.name == "wt-memory"
    assert settings.profile.survivor == "newest"
    assert settings.encoder == "fast"
    assert {d.name: d.threshold for d in settings.profile.detectors}["sequence"] == 0.8


def test_values_of_the_environment_are_read_by_kind(tmp_path: Path) -> None:
    environment = {
        "ECHOLESS_LIMIT": "5",
        "ECHOLESS_CACHE": "no",
        "ECHOLESS_SEMANTIC": "off",
        "ECHOLESS_THRESHOLD": "lexical=0.4",
    }
    settings = resolve(layered(Choices(), folder=tmp_path, environment=environment))
    assert (settings.limit, settings.cache) == (5, False)
    thresholds = {d.name: d.threshold for d in settings.profile.detectors}
    assert "semantic" not in thresholds
    assert thresholds["lexical"] == 0.4


def test_a_threshold_of_the_file_is_taken_where_it_fits(tmp_path: Path) -> None:
    (tmp_path / "echoless.toml").write_text('threshold = ["semantic=0.9"]')
    for flags in (Choices(profile="wt-memory"), Choices(semantic=False)):
        settings = resolve(layered(flags, folder=tmp_path, environment={}))
        assert "semantic" not in {d.name for d in settings.profile.detectors}
    settings = resolve(layered(Choices(), folder=tmp_path, environment={}))
    assert {d.name: d.threshold for d in settings.profile.detectors}["semantic"] == 0.9


def test_detectors_can_be_added_by_name() -> None:
    detectors = resolve(Choices(detector=("sequence", "lexical"))).profile.detectors
    assert [d.name for d in detectors] == ["exact", "normalised", "lexical", "semantic", "sequence"]
    with pytest.raises(UsageError, match="Unknown detector 'sonar'"):
        resolve(Choices(detector=("sonar",)))


def test_the_digest_follows_what_changes_a_result_and_nothing_else() -> None:
    plain = resolve(Choices()).digest
    assert resolve(Choices(cache=False)).digest == plain
    for different in (
        Choices(threshold=("0.9",)),
        Choices(survivor="newest"),
        Choices(encoder="none"),
        Choices(namespace="x"),
        Choices(action="merge"),
    ):
        assert resolve(different).digest != plain


def test_a_bare_threshold_is_for_every_similarity_detector() -> None:
    detectors = resolve(Choices(threshold=("0.9", "lexical=0.5"))).profile.detectors
    assert {d.name: d.threshold for d in detectors} == {
        "exact": None,
        "normalised": None,
        "lexical": 0.5,
        "semantic": 0.9,
    }


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        (Choices(profile="wild"), "Unknown profile 'wild'. Known profiles: safe, unattended"),
        (Choices(threshold=("abc",)), "threshold 'abc' is not a similarity"),
        (Choices(threshold=("0",)), "threshold '0' is not a similarity"),
        (Choices(threshold=("1.01",)), "threshold '1.01' is not a similarity"),
        (Choices(threshold=("inf",)), "threshold 'inf' is not a similarity"),
        (Choices(threshold=("sequence=0.8",)), "no threshold for 'sequence'"),
        (Choices(survivor="loudest"), "Unknown survivor order 'loudest'"),
        (Choices(grouping="heap"), "Unknown grouping 'heap'"),
        (Choices(action="burn"), "Unknown action 'burn'"),
        (Choices(limit=0), "--set limit must be a whole number from 1, not 0"),
        (Choices(since="soon"), "--set since='soon' is not a time"),
    ],
)
def test_a_wrong_choice_is_named_with_what_there_is(choices: Choices, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        resolve(choices)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("profile = ", "not valid TOML"),
        ('colour = "red"', "unknown key 'colour'"),
        ("limit = true", "'limit' has the wrong kind"),
        ("profile = 3", "'profile' has the wrong kind"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "echoless.toml").write_text(text)
    with pytest.raises(InputError, match=says):
        layered(Choices(), folder=tmp_path, environment={})


def test_a_broken_environment_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="ECHOLESS_LIMIT must be a whole number, not 'many'"):
        layered(Choices(), folder=tmp_path, environment={"ECHOLESS_LIMIT": "many"})

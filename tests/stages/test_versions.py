"""A stage whose results change has another version: what was cached before is not taken over."""

import json

import pytest

from echoless.core import versions
from echoless.core.versions import STAGES, Stage, StageName, edition
from tests.stages.results import RECORD, RESULTS, digest_of_results


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_with_other_results_on_the_sample_has_another_version(
    stage: StageName,
) -> None:
    version = str(STAGES[stage].version)
    recorded = json.loads(RECORD.read_text("utf-8"))[stage]
    assert recorded.get(version) == digest_of_results(stage), (
        f"The stage {stage!r} computes something else than version {version} of it did. Raise its "
        "number in src/echoless/core/versions.py, then record the new results with "
        "`python -m tests.stages.results`."
    )
    assert max(map(int, recorded)) == STAGES[stage].version


def test_every_stage_has_results_on_the_sample() -> None:
    assert STAGES.keys() == RESULTS.keys()


@pytest.fixture
def _fresh() -> None:
    edition.cache_clear()


@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize(
    ("raised", "others"),
    [
        ("matching", {"matching", "noise", "audit"}),
        ("noise", {"noise", "audit"}),
        ("blocking", {"blocking", "audit"}),
        ("audit", {"audit"}),
    ],
)
def test_a_raised_version_gives_another_edition_of_all_that_builds_on_the_stage(
    raised: StageName, others: set[StageName], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {stage: edition(stage) for stage in STAGES}
    edition.cache_clear()
    monkeypatch.setitem(versions.STAGES, raised, Stage(99, STAGES[raised].builds_on))
    assert {stage for stage in STAGES if edition(stage) != before[stage]} == others
    edition.cache_clear()


@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize("of", ["__version__", "platform.python_version", "unicodedata"])
def test_nothing_is_taken_over_from_another_release_python_or_unicode(
    of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = edition("matching")
    edition.cache_clear()
    match of:
        case "__version__":
            monkeypatch.setattr(versions, "__version__", "9.9.9")
        case "unicodedata":
            monkeypatch.setattr("unicodedata.unidata_version", "99.0.0")
        case _:
            monkeypatch.setattr("platform.python_version", lambda: "3.99.0")
    assert edition("matching") != before
    edition.cache_clear()

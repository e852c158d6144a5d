import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from echoless.blocking.detectors import DetectorOptions, open_detector
from echoless.core import plugins
from echoless.core.errors import UsageError

LEXICAL_FAMILY = ("exact", "lexical", "normalised", "sequence")


@pytest.mark.parametrize("name", LEXICAL_FAMILY)
def test_a_detector_opens_by_name(name: str) -> None:
    detector = open_detector(name, DetectorOptions())
    assert detector.name == name


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="lexical"):
        open_detector("soundex", DetectorOptions())


@pytest.mark.parametrize("name", LEXICAL_FAMILY)
@pytest.mark.parametrize("value", [0.0, -0.1, 1.1, float("nan"), float("inf"), float("-inf")])
def test_a_threshold_out_of_range_is_refused_by_name_value_and_range(
    name: str, value: float
) -> None:
    with pytest.raises(
        UsageError, match=f"'{name}' is {value}; it has to be above 0 and at most 1"
    ):
        open_detector(name, DetectorOptions(threshold=value))


@pytest.mark.parametrize("value", [1.0, -0.1, float("nan")])
def test_a_strict_threshold_that_nothing_can_exceed_is_refused(value: float) -> None:
    with pytest.raises(UsageError, match="at least 0 and below 1"):
        open_detector("sequence", DetectorOptions(threshold=value, inclusive=False))


@pytest.mark.parametrize("name", LEXICAL_FAMILY)
def test_an_unknown_setting_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="no setting 'treshold'"):
        open_detector(name, DetectorOptions(settings={"treshold": 0.5}))


def test_an_entry_point_that_is_no_callable_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint(
        "odd", "echoless.blocking.detectors.sequence:DEFAULT_THRESHOLD", "echoless.detectors"
    )
    monkeypatch.setattr(plugins, "_group", lambda kind: {"odd": entry})
    with pytest.raises(UsageError, match="not callable"):
        open_detector("odd", DetectorOptions())


def test_importing_the_package_loads_no_heavy_library() -> None:
    code = (  # the root package is a stub here: what it imports is not what is asked
        "import importlib.util, sys, types;"
        "places = importlib.util.find_spec('echoless').submodule_search_locations;"
        "sys.modules['echoless'] = root = types.ModuleType('echoless');"
        "root.__path__ = list(places);"
        "import echoless.blocking.detectors;"
        "print([m for m in ('numpy', 'rapidfuzz') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize("name", LEXICAL_FAMILY)
def test_the_hash_seed_changes_nothing(name: str) -> None:
    code = (
        "from echoless.blocking.detectors import *; from echoless.core.run_notes import Tally;"
        "from tests.conformance.detectors import PLAIN_TEXTS, memories_of;"
        f"d = open_detector({name!r}, DetectorOptions());"
        "print(list(d.detect(memories_of(PLAIN_TEXTS), Tally())))"
    )
    shown = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1"},
        ).stdout
        for seed in ("1", "2")
    ]
    assert shown[0] == shown[1]

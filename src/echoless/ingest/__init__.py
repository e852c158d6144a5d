"""Write-time guard of a store: a new text is stored, a known one counted, each with the reason.

`guard.py` decides, `outcomes.py` holds its answers. `index.py` finds what a text may repeat
(`ngram_index.py` by its wording, `vector_index.py` by its vector) and is kept between processes by
`index_cache.py`; `matcher.py` chooses what is judged; `policy.py` turns verdicts into an answer;
`writer.py` writes; `recalled_text.py` holds what came out of memory itself.
"""

from __future__ import annotations

from echoless.ingest.guard import Guard as Guard
from echoless.ingest.guard import remember as remember
from echoless.ingest.outcomes import Admitted as Admitted
from echoless.ingest.outcomes import AlreadyKnown as AlreadyKnown
from echoless.ingest.outcomes import Match as Match
from echoless.ingest.outcomes import NeedsReview as NeedsReview
from echoless.ingest.outcomes import Remembered as Remembered
from echoless.ingest.outcomes import Updates as Updates

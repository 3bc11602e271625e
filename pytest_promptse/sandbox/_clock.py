"""The clock of the checker's limits, which a test cannot replace.

Tests patch ``time.monotonic``, in the module `time` or, as freezegun does, in each module that has
imported it. A clock that stands still would take the limits from the program. For the same reason
the package imports by name what tests patch in other modules, such as ``os.kill`` and ``open``.
"""

from __future__ import annotations

from functools import partial
from time import CLOCK_MONOTONIC, clock_gettime

monotonic = partial(clock_gettime, CLOCK_MONOTONIC)
"""Return seconds, as ``time.monotonic`` does."""

"""Which run is asking for which wording, so that two runs on one store do not pay twice."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_promptse.store.store import Store

# A run that was killed while another goes on leaves claims that hold up the other for this long.
LEASE_SECONDS = 5.0
RENEW_SECONDS = 1.0


class Leases:
    """The wordings that one run has under way.

    A claim lasts for five seconds unless it is renewed. A run that is held up for longer than
    that may find that another has asked for the same wording: the first answer written stays.
    """

    def __init__(self, store: Store, run: str) -> None:
        self._store = store
        self._run = run

    def take(self, keys: Mapping[str, int]) -> dict[str, list[int]]:
        """Claim those `keys` that lack some of their n samples and that no other run claims.

        Returns
        -------
        dict
            For each key claimed the samples it lacks, and an empty list for each that lacks
            none; keys under way in another run are left out.
        """
        now = time.time()
        taken: dict[str, list[int]] = {}
        with self._store.database.write() as connection:
            for key, missing in self._store.missing(keys).items():
                claimed = (
                    not missing
                    or connection.execute(
                        """
                    INSERT INTO claim (key, run, expires) VALUES (?, ?, ?)
                    ON CONFLICT (key) DO UPDATE SET run = excluded.run, expires = excluded.expires
                    WHERE run = excluded.run OR expires < ?
                    """,
                        (key, self._run, now + LEASE_SECONDS, now),
                    ).rowcount
                )
                if claimed:
                    taken[key] = missing
        return taken

    def renew(self) -> None:
        """Hold what is claimed for another five seconds."""
        with self._store.database.write() as connection:
            connection.execute(
                "UPDATE claim SET expires = ? WHERE run = ?",
                (time.time() + LEASE_SECONDS, self._run),
            )

    def release(self, keys: Iterable[str]) -> None:
        """Give up the claims on `keys`."""
        with self._store.database.write() as connection:
            connection.executemany(
                "DELETE FROM claim WHERE key = ? AND run = ?", ((key, self._run) for key in keys)
            )

    def release_all(self) -> None:
        """Give up every claim of this run."""
        with self._store.database.write() as connection:
            connection.execute("DELETE FROM claim WHERE run = ?", (self._run,))

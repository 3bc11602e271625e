"""Leases on variants, so that two runs with one store do not pay for the same completions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_promptse.sandbox.guest.unpatched import time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_promptse.store._store import Store

# Seconds that other runs wait for the variants of a killed run.
LEASE_SECONDS = 5.0
RENEW_SECONDS = 1.0


class Leases:
    """The variants whose completions one run is requesting.

    A lease lasts five seconds unless it is renewed. If a run is suspended for longer, another run
    may request the same variant; the store keeps the completion that was written first.
    """

    def __init__(self, store: Store, run: str) -> None:
        self._store = store
        self._run = run

    def take(
        self, keys: Mapping[str, int], *, since: Mapping[str, float] | None = None
    ) -> dict[str, list[int]]:
        """Lease those `keys` that lack samples and that no other run has leased.

        Parameters
        ----------
        keys
            The number of samples that each key should have.
        since
            As in `Store.missing`.

        Returns
        -------
        dict
            The missing samples of each leased key, and an empty list for each complete key.
            Keys that another run has leased are left out.
        """
        now = time.time()
        taken: dict[str, list[int]] = {}
        with self._store.database.write() as connection:
            for key, missing in self._store.missing(keys, since=since).items():
                leased = (
                    not missing
                    or connection.execute(
                        """
                    INSERT INTO lease (key, run, expires) VALUES (?, ?, ?)
                    ON CONFLICT (key) DO UPDATE SET run = excluded.run, expires = excluded.expires
                    WHERE run = excluded.run OR expires < ?
                    """,
                        (key, self._run, now + LEASE_SECONDS, now),
                    ).rowcount
                )
                if leased:
                    taken[key] = missing
        return taken

    def renew(self) -> None:
        """Extend all leases of this run to five seconds from now."""
        with self._store.database.write() as connection:
            connection.execute(
                "UPDATE lease SET expires = ? WHERE run = ?",
                (time.time() + LEASE_SECONDS, self._run),
            )

    def release(self, keys: Iterable[str]) -> None:
        """Release the leases on `keys`."""
        with self._store.database.write() as connection:
            connection.executemany(
                "DELETE FROM lease WHERE key = ? AND run = ?", ((key, self._run) for key in keys)
            )

    def release_all(self) -> None:
        """Release every lease of this run."""
        with self._store.database.write() as connection:
            connection.execute("DELETE FROM lease WHERE run = ?", (self._run,))

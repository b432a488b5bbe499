"""What real clients did, as the sniffing proxy saw it, held against the history properties of transactions.

judged = judge(sniffer.drain(), mode="v1")
judged.rules          # {"txn.P3", "txn.P5"}
judged.violations     # by property, told in one line
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.properties.history import write_histories
from fencepost.properties.transactions.events.kinds import TRANSACTIONS, Kind
from fencepost.properties.transactions.histories.properties import PROPERTIES
from fencepost.reference_impl.live.transactions.clients.sniffing import Sniffer
from real_client_reading import read_to_end

OBSERVED = tuple(kind.name for kind in Kind if kind <= Kind.fence_told or kind >= Kind.fetched)
PATIENCE_S = 20.0
Event = Mapping[str, Any]


@dataclass(frozen=True)
class Judged:
    """What the history properties say of one recording."""

    report: ReplayReport

    @property
    def violations(self) -> dict[str, str]:
        """The first violation of each property, told in one line."""
        return {name: found["first"].told for name, found in self.report.violations.items()}

    @property
    def rules(self) -> set[str]:
        """The promises and rules that are broken."""
        return {PROPERTIES[name].rule for name in self.report.violations}

    def judged(self, *names: str) -> bool:
        """Whether every one of these properties was decided, on something."""
        return all(self.report.judged.get(name, 0) > 0 for name in names)


def judge(events: Iterable[Event], folder: Path, mode: str) -> Judged:
    """Write one history into `folder`, and replay it from there."""
    rows = [
        [step, *(_value(event, name) for name in TRANSACTIONS.schema.names[2:])] for step, event in enumerate(events)
    ]
    write_histories(
        folder, [(0, rows)], TRANSACTIONS, source="recorded", ordered=True, config={"mode": mode}, observable=OBSERVED
    )
    return Judged(replay(folder))


class Readers:
    """Readers of one recording, numbered from 1000: each reads a partition once, from its beginning to its end."""

    def __init__(self, sniffer: Sniffer, bootstrap: str, places: Sequence[tuple[str, int]]) -> None:
        self._sniffer, self._bootstrap, self._places = sniffer, bootstrap, places
        self._number = 999

    def read(self, partition: int, is_settled: bool = False) -> list[int]:
        """What a fresh read_committed reader gets, records in order; `is_settled`: first wait until all is decided."""
        if is_settled:
            self._settle(partition)
        self._number += 1
        reading = read_to_end(self._bootstrap, *self._places[partition])
        where = {"client": self._number, "partition": partition}
        self._sniffer.report("fetched", **where, offset=0, upto=reading.upto)
        for offset, record in reading.records:
            self._sniffer.report("record_read", **where, offset=offset, record=record)
        return [record for _, record in reading.records]

    def _settle(self, partition: int) -> None:
        """EndTxn is answered before the markers are written, and what it ends is undecided until then."""
        deadline = time.monotonic() + PATIENCE_S
        place = self._places[partition]
        while time.monotonic() < deadline:
            stable, end = (read_to_end(self._bootstrap, *place, committed=only).upto for only in (True, False))
            if stable == end:
                return
        raise TimeoutError(f"{place} is undecided from {stable} on, after {PATIENCE_S:g} s")


def _value(event: Event, column: str) -> int:
    if column == "kind":
        return Kind[event["kind"]]
    return int(event.get(column, 0 if column in ("error", "time_us") else -1))

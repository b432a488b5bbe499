"""Keeps what the clients of a system over TCP saw, as the file of events that `record --clients` takes.

    system = over_tcp({"bootstrap": "127.0.0.1:9092", …})     # and driven
    write_seen(file, system)
    record_transactions(log_dirs, file, out)

All its clients are driven by one thread, so that their events stand in the order in which they happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fencepost.proofs.recording.transactions.client_events import Header, write_events
from fencepost.reference_impl.live.transactions.over_tcp import WireSystem


def write_seen(file: Path, system: WireSystem, **said: Any) -> int:
    """Write every event so far, with the wall's times; returns how many. Once a system: it drains its timed events.

    `said` are further fields of the header: quiet_end, observable, faults.
    """
    timed = system.drain_timed_events()
    events = [{**event._asdict(), "time_us": time_us} for time_us, event in timed]
    write_events(file, events, header_of(system, [event["producer_id"] for event in events], **said))
    return len(events)


def header_of(system: WireSystem, producer_ids: Sequence[int], **said: Any) -> Header:
    """The names on its brokers of the numbers in a system's events."""
    names, config = system.names, system.env.config
    return Header(
        mode=config.mode,
        ordered=True,
        partitions=tuple((place.topic, place.partition, place.start) for place in names.places),
        groups=tuple(names.group_id(group) for group in range(config.groups)),
        transactional_ids=(names.transactional_id(0),),
        producer_ids=tuple(names.real_producer_id(shown) for shown in range(max(producer_ids, default=-1) + 1)),
        record_key=names.record_key.decode(),
        **said,
    )

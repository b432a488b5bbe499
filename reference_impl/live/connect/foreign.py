"""This module reads a Kafka Connect that others run, and writes nothing to it: what a worker's REST server
answers to GET, and whole topics, record batch by record batch, as a broker has them in its log.

    brokers = Brokers("127.0.0.1:9092", 5.0)
    mirror(brokers, ["connect-configs", "__transaction_state"], folder)     # a log directory, as recorders read it
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fencepost.reference_impl.live.connect.rest import ask
from fencepost.reference_impl.live.tcp.brokers import Brokers
from fencepost.reference_impl.live.tcp.connection import WireError
from fencepost.reference_impl.live.tcp.reading import build, milliseconds, only, reading

MAX_BYTES = 2**24
LENGTH, BEFORE_LENGTH, HEADER_BYTES = struct.Struct(">qi"), 12, 61
LAST_DELTA, LAST_DELTA_AT = struct.Struct(">i"), 23  # bytes from the start of a batch
TIMEOUT_S = 10.0


def about(url: str) -> tuple[str, str, dict[str, Any]]:
    """Return the worker's release, the id of its Kafka cluster, and the status of each connector by name. Raise
    WireError for what does not answer as Connect's REST server does."""
    root, all_of_them = (ask(url, "GET", path, timeout_s=TIMEOUT_S) for path in ("/", "/connectors?expand=status"))
    try:
        found = {name: each["status"] for name, each in all_of_them.body.items()}
        return str(root.body["version"]), str(root.body["kafka_cluster_id"]), found
    except (AttributeError, KeyError, TypeError):
        what = f"answers {root.status} and {all_of_them.status}, with {str(all_of_them.body)[:80]!r}"
        raise WireError(f"{url}: {what}: this is not the REST server of a Connect worker, or it refuses") from None


def mirror(brokers: Brokers, topics: Sequence[str], out: Path) -> None:
    """Make `out` a log directory with all that these topics have, aborted and control batches included. Raise WireError
    for a topic that cannot be read."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "meta.properties").write_text(f"node.id=0\ncluster.id={brokers.cluster_id}\n")
    cleaned = []
    for topic in topics:
        partitions = brokers.refresh(topic)
        if not partitions:
            raise WireError(f"{brokers.bootstrap}: there is no topic {topic}, or reading it is not allowed")
        for partition in sorted(partitions):
            (out / f"{topic}-{partition}").mkdir()
            batches = [*_batches(brokers, topic, partition)]
            end = batches[-1][1] if batches else 0
            (out / f"{topic}-{partition}" / f"{0:020d}.log").write_bytes(b"".join(batch for batch, _ in batches))
            cleaned.append(f"{topic} {partition} {end}\n")  # what is missing below, compaction has taken
    (out / "cleaner-offset-checkpoint").write_text(f"0\n{len(cleaned)}\n{''.join(cleaned)}")  # of the last call


def _batches(brokers: Brokers, topic: str, partition: int) -> Iterator[tuple[bytes, int]]:
    """Yield each batch, with the offset after it, up to the high watermark that the first answer names."""
    position, end = 0, -1
    while end < 0 or position < end:
        found = _fetched(brokers, topic, partition, position)
        end = int(found.high_watermark) if end < 0 else end
        data, at, before = bytes(found.records or b""), 0, position
        while at + HEADER_BYTES <= len(data):
            base, length = LENGTH.unpack_from(data, at)
            batch = data[at : at + BEFORE_LENGTH + length]
            if len(batch) < BEFORE_LENGTH + length:
                break
            at += len(batch)
            position = base + LAST_DELTA.unpack_from(batch, LAST_DELTA_AT)[0] + 1
            if position <= end:
                yield batch, position
        if position == before:
            return


def _fetched(brokers: Brokers, topic: str, partition: int, offset: int) -> Any:
    version = brokers.offered.version("fetch")
    if version is None:
        raise WireError(f"{brokers.bootstrap}: its brokers speak no version of Fetch that is known here")
    part = build(
        "fetch", version, "FetchPartition", partition=partition, fetch_offset=offset, partition_max_bytes=MAX_BYTES
    )
    request = build(
        "fetch", version, max_wait=milliseconds(0), min_bytes=0, max_bytes=MAX_BYTES, isolation_level=0,
        forgotten_topics_data=(), topics=(build("fetch", version, "FetchTopic", topic=topic, partitions=(part,)),),
    )  # fmt: skip
    answer = brokers.ask(brokers.leader(topic, partition), request)
    with reading(request, answer):
        error = int(getattr(answer, "error_code", 0))
        found: Any = None if error else only(only(answer.responses, "topics").partitions, "partitions")
        error = error or int(found.error_code)
    if error:
        raise WireError(f"{brokers.bootstrap}: {topic}-{partition} cannot be read from offset {offset}: error {error}")
    return found

"""Writes into `__transaction_state` what a coordinator would have written after tens of thousands of requests.

The epochs of a producer id end at 32766. A record with a late epoch, and a coordinator that loads it, get there in two
seconds instead of twenty. (TransactionLogKey.json, TransactionLogValue.json, version 0.)
"""

from __future__ import annotations

import struct
import time
from datetime import UTC, datetime
from io import BytesIO

from asking import Asker
from fencepost.reference_impl.live.tcp.connection import Connection
from fencepost.reference_impl.live.tcp.reading import build, milliseconds
from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_new_batch
from kio.static.primitive import Records, TZAwareMicros, i8, i16, i32, i64

ALLOWED = "__admin_client"  # the one client id that brokers let write into internal topics
EMPTY, NO_PARTITIONS, NO_TIME = 0, -1, -1


def forge_epoch(ask: Asker, producer: str, epoch: int, timeout_ms: int = 60_000) -> None:
    """Append: the transactional id of `ask` is Empty at this epoch. It counts when a coordinator loads the log."""
    name = ask.txn.encode()
    key = struct.pack(">hh", 0, len(name)) + name
    now_ms = int(time.time() * 1000)
    value = struct.pack(">hqhibiqq", 0, ask.id(producer), epoch, timeout_ms, EMPTY, NO_PARTITIONS, now_ms, NO_TIME)
    when = TZAwareMicros.parse(datetime.fromtimestamp(now_ms // 1000, UTC))
    record = Record(attributes=i8(0), timestamp=when, offset=i64(0), key=key, value=value, headers=())
    batch = NewRecordBatch(
        producer_id=i64(-1), producer_epoch=i16(-1), base_sequence=i32(-1), records=(record,), attributes=i16(0)
    )
    with BytesIO() as buffer:
        write_new_batch(buffer, batch)
        data = build("produce", 11, "PartitionProduceData", index=0, records=Records(buffer.getvalue()))
    topic = build("produce", 11, "TopicProduceData", name="__transaction_state", partition_data=(data,))
    request = build("produce", 11, transactional_id=None, acks=-1, timeout=milliseconds(10_000), topic_data=(topic,))
    host, _, port = ask.address.rpartition(":")
    with Connection(host, int(port), client_id=ALLOWED) as connection:
        (reported,) = connection.call(request).responses[0].partition_responses
    assert reported.error_code == 0, (
        f"the record of {ask.txn} was refused: {reported.error_message or reported.error_code}"
    )

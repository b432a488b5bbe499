"""Responses as Kafka sends them, where kio's schema is too strict."""

from __future__ import annotations

from datetime import timedelta
from io import BytesIO

import pytest
from fencepost.reference_impl.live.tcp.mended import DescribeTransactionsResponse, TransactionState
from kio.schema.describe_transactions.v0.response import DescribeTransactionsResponse as KioResponse
from kio.schema.errors import ErrorCode
from kio.schema.types import ProducerId, TransactionalId
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError
from kio.static.primitive import i16, i32Timedelta, i64


def test_a_transaction_without_a_start_is_read() -> None:
    """DescribeTransactions of an idle id, start -1, is read back as it was; kio's own reader refuses it."""
    state = TransactionState(
        error_code=ErrorCode.none,
        transactional_id=TransactionalId("idle"),
        transaction_state="Empty",
        transaction_timeout=i32Timedelta.parse(timedelta(minutes=1)),
        transaction_start_time=i64(-1),
        producer_id=ProducerId(7),
        producer_epoch=i16(3),
        topics=(),
    )
    answer = DescribeTransactionsResponse(throttle_time=i32Timedelta.parse(timedelta(0)), transaction_states=(state,))
    with BytesIO() as buffer:
        entity_writer(DescribeTransactionsResponse)(buffer, answer)
        sent = buffer.getvalue()
    assert entity_reader(DescribeTransactionsResponse)(sent, 0) == (answer, len(sent))
    with pytest.raises(SerialError, match="negative timestamp"):
        entity_reader(KioResponse)(sent, 0)

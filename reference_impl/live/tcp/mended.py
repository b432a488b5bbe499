"""Responses that kio's schema reads too strictly, with the field in question as Kafka sends it.

DescribeTransactions says -1 for the start of a transaction that has none, which kio takes for a time before 1970.
"""

from dataclasses import dataclass, field
from typing import Any

from kio.schema.describe_transactions.v0 import response as kio_response
from kio.schema.describe_transactions.v0.request import DescribeTransactionsRequest
from kio.static.primitive import i64


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionState(kio_response.TransactionState):
    """One transactional id; the start is in milliseconds since 1970, -1 for none."""

    transaction_start_time: i64 = field(metadata={"kafka_type": "int64"})  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTransactionsResponse(kio_response.DescribeTransactionsResponse):
    """The whole answer."""

    transaction_states: tuple[TransactionState, ...]


MENDED: dict[Any, Any] = {DescribeTransactionsRequest: DescribeTransactionsResponse}  # request class -> response class

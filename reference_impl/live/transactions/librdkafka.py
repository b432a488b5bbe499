"""The plug with librdkafka's producer (confluent-kafka) as the client: `librdkafka(config)`.

`config` is that of `over_tcp`, with mode v1 or v1-verified: librdkafka 2.16 ends transactions with EndTxn 1. Its
requests go through the proxy, one record a batch; see `real_client_system.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fencepost.reference_impl.live.transactions.clients.real_client_librdkafka import LibrdkafkaProducer
from fencepost.reference_impl.live.transactions.clients.real_client_system import RealClientSystem

ONE_RECORD_A_BATCH = {"batch_num_messages": 1}
QUICK = {"reconnect_backoff_ms": 10, "reconnect_backoff_max_ms": 50, "retry_backoff_max_ms": 50}


def librdkafka(config: Mapping[str, Any]) -> RealClientSystem:
    """A driven system at `config["bootstrap"]`. Raises ValueError, WireError."""
    return RealClientSystem(_make, "librdkafka", config)


def _make(bootstrap: str, txn_id: str, client_id: str, timeout_s: float) -> LibrdkafkaProducer:
    patient = {"socket_timeout_ms": int(timeout_s * 1000)}
    return LibrdkafkaProducer(bootstrap, txn_id, client_id, timeout_s, **ONE_RECORD_A_BATCH, **QUICK, **patient)

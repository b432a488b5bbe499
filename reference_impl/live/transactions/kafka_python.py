"""The plug with kafka-python's producer as the client: `kafka_python(config)`.

`config` is that of `over_tcp`, with mode v1 or v1-verified: kafka-python 3.0 ends transactions with EndTxn 3. It cannot
talk to librdkafka's mock. Its requests go through the proxy, one record a batch; see `real_client_system.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fencepost.reference_impl.live.transactions.clients.real_client_kafka_python import KafkaPythonProducer
from fencepost.reference_impl.live.transactions.clients.real_client_system import RealClientSystem

ONE_RECORD_A_BATCH = {"batch_size": 0}
QUICK = {"reconnect_backoff_ms": 10, "reconnect_backoff_max_ms": 50}


def kafka_python(config: Mapping[str, Any]) -> RealClientSystem:
    """A driven system at `config["bootstrap"]`. Raises ValueError, WireError."""
    return RealClientSystem(_make, "kafka-python", config)


def _make(bootstrap: str, txn_id: str, client_id: str, timeout_s: float) -> KafkaPythonProducer:
    patient = {"request_timeout_ms": int(timeout_s * 1000) - 1}
    return KafkaPythonProducer(bootstrap, txn_id, client_id, timeout_s, **ONE_RECORD_A_BATCH, **QUICK, **patient)

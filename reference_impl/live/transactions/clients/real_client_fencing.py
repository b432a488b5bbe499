"""Admin.fenceProducers of one transactional id, by raw requests: neither library has it.

One InitProducerId without a pair, again and again while the answer only says "later" (FenceProducersHandler.java).
"""

from __future__ import annotations

import threading
import time

from fencepost.reference_impl.live.tcp.brokers import TRANSACTION
from fencepost.reference_impl.live.tcp.connection import Connection, WireError, find_brokers
from fencepost.reference_impl.live.tcp.schemas import build, milliseconds

RETRIED = frozenset({14, 15, 16, 51})
PAUSE_S = 0.02
VERSION = 1  # nothing of later ones is needed here, and every broker has it
FENCE_TIMEOUT_MS = 60_000


def fence(bootstrap: str, txn_id: str, client_id: str, timeout_s: float) -> None:
    """Start to fence; returns at once. What comes of it shows on the wire."""
    work = threading.Thread(
        target=_fence, args=(bootstrap, txn_id, client_id, timeout_s), name=f"fencepost-{client_id}", daemon=True
    )
    work.start()


def _fence(bootstrap: str, txn_id: str, client_id: str, timeout_s: float) -> None:
    request = build(
        "init_producer_id", VERSION, transactional_id=txn_id, transaction_timeout=milliseconds(FENCE_TIMEOUT_MS)
    )
    deadline = time.monotonic() + timeout_s
    error = -1
    while error and time.monotonic() < deadline:
        try:
            host, port = _coordinator(bootstrap, txn_id)
            with Connection(host, port, timeout_s, client_id) as connection:
                while (error := int(connection.call(request).error_code)) in RETRIED:
                    time.sleep(PAUSE_S)
        except WireError:  # its connection was cut: it asks again
            time.sleep(PAUSE_S)
        else:
            return


def _coordinator(bootstrap: str, txn_id: str) -> tuple[str, int]:
    first = find_brokers(bootstrap)[0]
    with Connection(first.host, first.port) as connection:
        answer = connection.call(build("find_coordinator", 1, key=txn_id, key_type=TRANSACTION))
    return str(answer.host), int(answer.port)

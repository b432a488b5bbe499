"""The epochs of a producer id, used up one by one on a live broker: 32,767 requests (8 s).

Other ways to end there take the short way of a forged record (`corners_last_epochs.py`).
"""

from __future__ import annotations

import time

import pytest
from asking import COMMIT, Asker
from fencepost.reference_impl.live.clusters.kafka import KafkaCluster
from kio.schema.errors import ErrorCode

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

LAST = 32766


def test_epochs_go_up_by_one_and_end_at_32766(kafka_v2: KafkaCluster) -> None:
    """txn.4, txn.P7: each InitProducerId gets one more; a retry at the end is told -1; then comes a new id."""
    ask = Asker(kafka_v2.bootstrap, "last-epoch")
    ask.prepare()
    begun = time.monotonic()
    for epoch in range(LAST):
        assert ask.init() == ("A", epoch)
    assert ask.init("A", LAST - 1) == ("A", LAST)
    print(f"{LAST + 1} InitProducerId in {time.monotonic() - begun:.1f} s")
    assert ask.init("A", LAST - 1) == ErrorCode.unknown_server_error  # the retry of the request before
    assert ask.produce("A", LAST, 0) == 0
    assert ask.end("A", LAST, COMMIT) == ("B", 0)
    assert ask.settled() == ("CompleteCommit", 0)
    assert ask.log(committed=True) == ([f"A/{LAST}/0", "COMMIT"], 2, [])
    assert ask.produce("A", LAST, 1) == ErrorCode.invalid_producer_epoch
    assert ask.init() == ("B", 1)

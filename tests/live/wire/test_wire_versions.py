"""Which versions are spoken, and what is said where a mode cannot be."""

from typing import Any

import pytest
from fencepost.reference_impl.live.tcp.connection import WireError
from fencepost.reference_impl.live.tcp.reading import API_KEYS
from fencepost.reference_impl.live.tcp.versions import OURS, Bounds, Offered

# Bounds of Kafka 4.x, and of 2.8, for what is asked here; and of Kafka 3.9 where it differs from 2.8.
KAFKA_4 = {
    "produce": (0, 13), "fetch": (4, 18), "list_offsets": (1, 11), "metadata": (0, 13), "offset_fetch": (1, 10),
    "find_coordinator": (0, 6), "create_topics": (2, 7), "init_producer_id": (0, 6), "add_partitions_to_txn": (0, 5),
    "add_offsets_to_txn": (0, 4), "end_txn": (0, 5), "txn_offset_commit": (0, 5), "describe_configs": (1, 4),
    "describe_transactions": (0, 0),
}  # fmt: skip
KAFKA_2_8 = KAFKA_4 | {
    "produce": (0, 9), "fetch": (0, 12), "offset_fetch": (0, 7), "find_coordinator": (0, 3), "end_txn": (0, 3),
    "init_producer_id": (0, 4), "add_partitions_to_txn": (0, 3), "txn_offset_commit": (0, 3),
}  # fmt: skip


def offered(
    bounds: dict[str, tuple[int, int]], level: int = 2, verifies: bool | None = None, **changed: Any
) -> Offered:
    """What a cluster would say; `changed` bounds by api, None for an api that it does not have."""
    known = {api: Bounds(*each) for api, each in (bounds | changed).items() if each is not None}
    return Offered(
        "broker:9092", {API_KEYS[api]: each for api, each in known.items()}, {"transaction.version": level}, verifies
    )


def test_newest_of_both_within_the_mode() -> None:
    """v2 speaks the newest; before it EndTxn, Produce and TxnOffsetCommit stay below what means v2."""
    v2 = offered(KAFKA_4, verifies=True).negotiate("v2")
    assert (v2["produce"], v2["end_txn"], v2["txn_offset_commit"]) == (12, 5, 5)
    for mode in ("v1", "v1-verified"):
        v1 = offered(KAFKA_4, verifies=mode != "v1").negotiate(mode)
        assert (v1["produce"], v1["end_txn"], v1["txn_offset_commit"]) == (11, 4, 4)
        assert (v1["add_partitions_to_txn"], v1["add_offsets_to_txn"]) == (3, 3)
    assert v2["init_producer_id"] == 5


def test_an_old_broker_is_spoken_to_as_it_can() -> None:
    """Kafka 2.8 has no verification and speaks v1."""
    spoken = offered(KAFKA_2_8, level=0).negotiate("v1")
    assert (spoken["produce"], spoken["end_txn"], spoken["offset_fetch"]) == (9, 3, 7)


def test_some_things_can_be_missing() -> None:
    """Without what no driven system needs it goes on, without anything else it does not."""
    optional = {"create_topics", "delete_topics", "describe_configs", "describe_transactions"}
    optional |= {"describe_producers", "list_transactions"}
    for api in OURS:
        known = offered(KAFKA_2_8, **{api: None})
        if api in optional:
            assert api not in known.negotiate("v1")
        else:
            with pytest.raises(WireError, match="the broker does not know it"):
                known.negotiate("v1")


@pytest.mark.parametrize(
    ("mode", "known", "words"),
    [
        (
            "v2",
            offered(KAFKA_2_8),
            "broker:9092: mode v2 needs Produce 12 to 12, the broker has 0 to 9; use another mode",
        ),
        ("v1-verified", offered(KAFKA_2_8), "mode v1-verified needs Produce 11 to 11, the broker has 0 to 9"),
        ("v2", offered(KAFKA_4, level=1), "mode v2 needs the feature transaction.version at 2, the cluster has 1"),
        ("v1", offered(KAFKA_4, verifies=True), "needs transaction.partition.verification.enable=false"),
        ("v1-verified", offered(KAFKA_4, verifies=False), "needs transaction.partition.verification.enable=true"),
        ("v1", offered(KAFKA_4, end_txn=(5, 5)), "mode v1 needs EndTxn 0 to 4, the broker has 5 to 5"),
    ],
)
def test_refusals_are_one_line(mode: str, known: Offered, words: str) -> None:
    """What the broker lacks, what it has, and what to do, in one line."""
    with pytest.raises(WireError) as refused:
        known.negotiate(mode)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_broker_that_does_not_say_is_believed() -> None:
    """Whether it verifies is not known of a broker without DescribeConfigs; it may be either."""
    assert offered(KAFKA_4, verifies=None).negotiate("v1") == offered(KAFKA_4, verifies=None).negotiate("v1-verified")

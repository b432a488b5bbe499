"""The test clusters themselves: what the other live tests take for granted about versions."""

from __future__ import annotations

import pytest
from cluster import ClusterError, KafkaCluster

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(120)]


def test_each_fixture_has_its_own_transaction_version(
    kafka_v2: KafkaCluster, kafka_v1: KafkaCluster, kafka_verified: KafkaCluster
) -> None:
    """The three single nodes run with transaction.version 2, 0 and 1 (KIP-890)."""
    assert [each.feature("transaction.version", 1) for each in (kafka_v2, kafka_v1, kafka_verified)] == [2, 0, 1]


def test_a_feature_is_set_while_the_cluster_runs(kafka_v1: KafkaCluster) -> None:
    """transaction.version goes up and down without a restart, and a level that does not exist is refused."""
    kafka_v1.set_feature("transaction.version", 2)
    assert kafka_v1.feature("transaction.version", 1) == 2
    kafka_v1.set_feature("transaction.version", 0)
    assert kafka_v1.feature("transaction.version", 1) == 0
    with pytest.raises(ClusterError, match=r"transaction\.version=9 was refused"):
        kafka_v1.set_feature("transaction.version", 9)

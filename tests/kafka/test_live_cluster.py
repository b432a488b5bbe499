"""The test clusters themselves: what the other live tests take for granted about versions."""

from __future__ import annotations

import pytest
from cluster import ClusterError, KafkaCluster
from fencepost.reference_impl.wire.connection import Connection
from kio.schema.api_versions.v4.request import ApiVersionsRequest

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(120)]


def finalized(cluster: KafkaCluster, feature: str) -> int:
    """The level of a feature that the first node knows, 0 if it is not finalized."""
    host, _, port = cluster.address(1).partition(":")
    with Connection(host, int(port)) as connection:
        answer = connection.call(ApiVersionsRequest(client_software_name="fencepost", client_software_version="1"))
    return next((int(each.max_version_level) for each in answer.finalized_features if each.name == feature), 0)


def test_each_fixture_has_its_own_transaction_version(
    kafka_v2: KafkaCluster, kafka_v1: KafkaCluster, kafka_verified: KafkaCluster
) -> None:
    """The three single nodes run with transaction.version 2, 0 and 1 (KIP-890)."""
    assert [finalized(each, "transaction.version") for each in (kafka_v2, kafka_v1, kafka_verified)] == [2, 0, 1]


def test_a_feature_is_set_while_the_cluster_runs(kafka_v1: KafkaCluster) -> None:
    """transaction.version goes up and down without a restart, and a level that does not exist is refused."""
    kafka_v1.set_feature("transaction.version", 2)
    assert finalized(kafka_v1, "transaction.version") == 2
    kafka_v1.set_feature("transaction.version", 0)
    assert finalized(kafka_v1, "transaction.version") == 0
    with pytest.raises(ClusterError, match=r"transaction\.version=9 was refused"):
        kafka_v1.set_feature("transaction.version", 9)

"""A live Connect is looked at as others': by REST and by what its topics have, which is only read."""

from __future__ import annotations

import pytest
from command_line import fencepost
from fencepost.reference_impl.live.connect import config_topic
from fencepost.reference_impl.live.connect.cluster import ConnectCluster

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]


def test_a_cluster_of_others(connect: ConnectCluster, connector: str) -> None:
    """It is judged without a violation, and not any more when a count of another size stands there."""
    connect.configure(connector, 2)
    connect.wait_until_polled(connector)
    topic, (first, *_) = f"{connect.group}-configs", connect.workers.values()
    words = ["agree", "task-counts", "--connect", first.url, "--bootstrap", connect.kafka.bootstrap]
    ran = fencepost(*words)
    assert (ran.code, ran.err) == (0, "")
    assert f"connector {connector}: set of 2 at offset" in ran.out and "RUNNING" in ran.out
    assert "618.3 (" in ran.out and "counts_are_sizes" in ran.out.partition("not decided")[0]
    assert fencepost(*words[:-1], "127.0.0.1:1").code == 2
    config_topic.write(connect.kafka, topic, f"tasks-fencing-{connector}".encode(), b'{"task-count":7}')
    ran = fencepost(*words, "--config", f"config_topic={topic}")
    assert (ran.code, ran.err) == (1, "")
    assert "counts_are_sizes is violated: count written" in ran.out

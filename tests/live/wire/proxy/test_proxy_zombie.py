"""The zombie against librdkafka's mock cluster, which does not know that anybody was fenced."""

from __future__ import annotations

from pathlib import Path

from mock_cluster import MockCluster
from recorded import judge
from zombie import AFTER, BEFORE, LAST, OTHER, zombie


def test_zombie_of_the_mock(tmp_path: Path) -> None:
    """The zombie writes and commits, readers get it, and the history names what is broken: txn.P1, and txn.P3."""
    with MockCluster() as mock:
        mock.create_topic("out")
        ran = zombie(mock.bootstrap, "out", "t")
    assert [reported.code for reported in ran.reported] == [0, 0]
    assert ran.read == [BEFORE, OTHER, AFTER, LAST]
    judged = judge(ran.events, tmp_path, "v1")
    assert judged.rules == {"txn.P1", "txn.P3"}
    assert set(judged.violations) == {"fenced_unread", "fenced_never_commit", "open_unread"}

"""What is committed follows from the controllers' copies: a majority has it, and no winner of an election lacks it."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from fencepost.proofs.recording import RecordingError
from fencepost.proofs.recording.id_blocks.quorum import CommittedLog, committed_log
from fencepost.proofs.recording.logs.log import read_node
from metadata_logs import Entry, block, elected, noop, segment, write_log, write_snapshot

FIRST = [elected(1, 1), block(1, 1, 1000), noop(1)]


def committed(folder: Path, *logs: Sequence[Entry]) -> CommittedLog:
    """What is committed when node 1, 2 … hold these logs."""
    return committed_log([read_node(write_log(folder, node, entries)) for node, entries in enumerate(logs, 1)])


def refusal(directories: Sequence[Path]) -> str:
    """The one line with which the logs are refused."""
    with pytest.raises(RecordingError) as refused:
        committed_log([read_node(directory) for directory in directories])
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_equal_logs_are_committed_whole(tmp_path: Path) -> None:
    """Three equal copies leave nothing to say."""
    found = committed(tmp_path, FIRST, FIRST, FIRST)
    assert (found.start, found.end, found.notes) == (0, 3, ())


def test_what_a_minority_holds_is_not_committed(tmp_path: Path) -> None:
    """A leader's record that reached no other node is noted and left out."""
    found = committed(tmp_path, FIRST, FIRST[:2], FIRST[:2])
    assert found.end == 2
    assert found.notes == ("offsets 2 to 2 are on too few nodes and count as uncommitted",)


def test_what_a_majority_holds_is_committed(tmp_path: Path) -> None:
    """A node that lags behind cannot win, so it cannot undo what the other two hold."""
    assert committed(tmp_path, FIRST, FIRST, FIRST[:1]).end == 3


def test_half_of_an_even_quorum_is_no_majority(tmp_path: Path) -> None:
    """Two of four may hold a record that the other two can never undo; Kafka would not have answered yet."""
    logs = [[elected(1, 1, (1, 2, 3, 4)), *FIRST[1:count]] for count in (3, 3, 2, 2)]
    assert committed(tmp_path, *logs).end == 2


def test_a_deposed_leaders_tail_is_left_out(tmp_path: Path) -> None:
    """Node 1 appended in epoch 1 what no node took; epoch 2 went on without it."""
    later = [*FIRST[:2], elected(2, 2), noop(2)]
    found = committed(tmp_path, FIRST, later, later)
    assert found.end == 4
    assert [batch.epoch for batch in found.batches] == [1, 1, 2, 2]
    assert found.notes == ("node 1: offsets 2 to 2 are a deposed leader's and were never committed",)


def test_an_old_record_on_a_majority_is_not_yet_committed(tmp_path: Path) -> None:
    """Raft's figure 8: three of five hold a record of epoch 2, but node 5, last of epoch 3, could still win over it."""
    voters = (1, 2, 3, 4, 5)
    first = [elected(1, 1, voters)]
    second = [*first, block(2, 1, 1000)]
    logs = [[*second, noop(4)], second, second, first, [*first, noop(3)]]
    assert committed(tmp_path, *logs).end == 1
    fourth = [*second, noop(4)]
    assert committed(tmp_path, fourth, fourth, fourth, first, [*first, noop(3)]).end == 3


def test_a_torn_log_that_cannot_decide_is_tolerated(tmp_path: Path) -> None:
    """A crashed node's torn tail is noted where the other two hold the record, or neither does."""
    for name, others, end in (("held", FIRST, 3), ("not-held", FIRST[:2], 2)):
        folder = tmp_path / name
        directories = [write_log(folder, 1, FIRST), write_log(folder, 2, others), write_log(folder, 3, others)]
        content = segment(directories[0]).read_bytes()
        segment(directories[0]).write_bytes(content[:-5])
        found = committed_log([read_node(directory) for directory in directories])
        assert found.end == end
        assert "node 1: 00000000000000000000.log ends inside the batch at offset 2" in found.notes[0]


def test_a_record_cut_in_half_that_could_decide_is_refused(tmp_path: Path) -> None:
    """Two of three torn at one record, or one torn where a second lags: whether it was committed cannot be told."""
    torn_both = [write_log(tmp_path / "a", node, FIRST) for node in (1, 2, 3)]
    torn_one = [write_log(tmp_path / "b", node, FIRST[: 4 - node]) for node in (1, 2, 3)]
    for directories, torn in ((torn_both, (0, 1)), (torn_one, (1,))):
        for index in torn:
            content = segment(directories[index]).read_bytes()
            segment(directories[index]).write_bytes(content[:-5])
        line = refusal(directories)
        assert f"{segment(directories[torn[0]])} byte" in line
        assert "a record is cut in half" in line
        assert "copy the file again from the node" in line


def test_diverging_logs_are_refused(tmp_path: Path) -> None:
    """One offset and epoch with two contents: both places are named."""
    other = [FIRST[0], block(1, 1, 2000), FIRST[2]]
    directories = [write_log(tmp_path, 1, FIRST), write_log(tmp_path, 2, FIRST), write_log(tmp_path, 3, other)]
    line = refusal(directories)
    best, other_copy = (segment(directories[number]).parent for number in (0, 2))
    assert f"{other_copy}: offset 1 of leader epoch 1 is not the batch that {best} has there" in line


def test_the_members_must_be_all_voters_of_one_cluster(tmp_path: Path) -> None:
    """A missing voter, a stranger, a node twice and another cluster's node are each named."""
    one, two, three = (write_log(tmp_path, node, FIRST) for node in (1, 2, 3))
    assert "voter 3 of [1, 2, 3] is not among the given directories" in refusal([one, two])
    assert "is node 1's, as is" in refusal([one, two, one])
    assert "node 4 is not a voter" in refusal([one, two, three, write_log(tmp_path, 4, FIRST)])
    strange = write_log(tmp_path / "other", 3, FIRST, cluster="another")
    assert "belongs to cluster another, but" in refusal([one, two, strange])


def test_a_snapshot_of_what_is_not_committed_is_refused(tmp_path: Path) -> None:
    """Kafka takes snapshots of committed records only; so one beyond them, or of another epoch, shows a bad copy."""
    directories = [write_log(tmp_path, node, FIRST[: 4 - node]) for node in (1, 2, 3)]
    early = write_snapshot(directories[0], 3, 1, [block(1, -1, 1000)])
    assert f"{early}: the snapshot covers offset 2, but only offsets below 2 are committed" in refusal(directories)
    early.unlink()
    write_snapshot(directories[0], 2, 5, [block(1, -1, 1000)])
    assert "the snapshot says epoch 5, the committed log epoch 1" in refusal(directories)


def test_a_pruned_log_needs_its_snapshot(tmp_path: Path) -> None:
    """A log that begins later is followed from there; another node's older records are put before it."""
    whole, later = [*FIRST, noop(1)], [noop(1), noop(1)]
    directories = [write_log(tmp_path, node, later, start=2) for node in (1, 2, 3)]
    assert "begins at offset 2, and no snapshot stands for what was before" in refusal(directories)
    write_snapshot(directories[0], 2, 1, [block(1, -1, 1000)])
    found = committed_log([read_node(directory) for directory in directories])
    assert (found.start, found.end) == (2, 4)
    directories[2] = write_log(tmp_path / "whole", 3, whole)
    found = committed_log([read_node(directory) for directory in directories])
    assert (found.start, found.end, len(found.batches)) == (0, 4, 4)

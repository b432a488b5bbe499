"""The config key `release` selects what brokers do differently since 4.0, as measured on Apache Kafka 4.3.1, and what
trunk adds, as read."""

import pytest
from fencepost.reference_impl.kafka.errors import ErrorCode
from fencepost.reference_impl.kafka.messages import ProduceRequest, WriteTxnMarkersRequest
from fencepost.reference_impl.systems.transactions import reference
from txn_bench import V1, V2, VERIFIED, Bench

SEEN = {"4.0": 3, "4.3": 2}


def opened(release, mode=V2):
    """Return a bench with one open transaction of one record, and its pair."""
    bench = Bench(mode, release=release)
    _, producer_id, epoch = bench.init()
    if mode != V2:
        assert bench.add(producer_id, epoch) == 0
    assert bench.produce(producer_id, epoch)[0] == 0
    return bench, producer_id, epoch


@pytest.mark.parametrize("release", SEEN)
def test_a_fence_bumps_once_or_twice(release):
    """KAFKA-19367: In v2 a client that fences an open transaction of epoch 0 gets epoch 3, and since the fix 2."""
    bench, producer_id, _ = opened(release)
    assert bench.init() == (ErrorCode.CONCURRENT_TRANSACTIONS, -1, -1)
    assert bench.init() == (0, producer_id, SEEN[release])


@pytest.mark.parametrize("mode", [V1, VERIFIED])
@pytest.mark.parametrize("release", SEEN)
def test_before_v2_a_fence_always_bumped_once(release, mode):
    """txn.3: Before v2 all releases are alike, in which epoch 1 aborts and the new instance gets 2."""
    bench, producer_id, _ = opened(release, mode)
    bench.init()
    assert bench.init() == (0, producer_id, 2)


@pytest.mark.parametrize(("release", "reported"), [("4.0", (90, -1, -1)), ("4.3", (0, 0, 1))])
def test_the_abort_of_who_was_fenced(release, reported):
    """txn.7: After a time-out the owner's abort has an epoch two behind (fenced) or, since KAFKA-19367, one behind,
    which passes for a repeated abort and gets the next epoch."""
    bench, producer_id, epoch = opened(release)
    bench.system.advance(80_000)
    bench.settle()
    assert bench.end(producer_id, epoch, committed=False) == reported


@pytest.mark.parametrize("release", SEEN)
def test_the_commit_of_who_was_fenced_is_refused(release):
    """txn.P1: After a time-out the owner's commit is refused in either release, and none of its records is read."""
    bench, producer_id, epoch = opened(release)
    bench.system.advance(80_000)
    bench.settle()
    assert bench.end(producer_id, epoch)[0] in {ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_TXN_STATE}
    assert bench.system.read(0, 0) == []


@pytest.mark.parametrize(("release", "second"), [("4.0", (45, -1)), ("4.3", (0, 3))])
def test_a_late_copy_of_an_older_epoch(release, second):
    """KAFKA-19690: The copy is refused with 47. If the leader verified it, the next batch of the open transaction would
    be out of order."""
    bench, producer_id, epoch = opened(release)
    assert bench.end(producer_id, epoch) == (0, producer_id, epoch + 1)
    assert bench.produce(producer_id, epoch + 1, sequence=0, record=1) == (0, 2)
    assert bench.produce(producer_id, epoch, sequence=0)[0] == ErrorCode.INVALID_PRODUCER_EPOCH
    assert bench.produce(producer_id, epoch + 1, sequence=1, record=2) == second


@pytest.mark.parametrize(("release", "error"), [("4.0", 48), ("4.3", 47)])
def test_a_verification_that_a_fence_overtook(release, error):
    """KAFKA-19690: A marker with a higher epoch arrives during verification. The batch is refused as not verified,
    which is fatal to a client, or as an old epoch, which is not."""
    bench = Bench(VERIFIED, release=release)
    _, producer_id, epoch = bench.init()
    assert bench.add(producer_id, epoch) == 0
    number = bench.send("produce", "partition-0", ProduceRequest(0, 0, producer_id, epoch, 0, 0))
    bench.flow("produce", "check")
    bench.send("marker", "partition-0", WriteTxnMarkersRequest(producer_id, epoch + 1, False, 0, 0))
    bench.flow("marker")
    bench.settle()
    assert bench.answers[number].error_code == error


def test_there_are_two_releases():
    with pytest.raises(ValueError, match=r"release='3\.9': must be one of 4\.0, 4\.3"):
        reference({"release": "3.9"})


@pytest.mark.parametrize("mode", [V1, VERIFIED])
@pytest.mark.parametrize(("release", "reported"), [("4.0", (45, -1)), ("4.3", (0, 0))])
def test_a_copy_of_an_aborted_batch(release, reported, mode):
    """txn.14: Within one epoch Kafka answers an aborted batch with its old offset, but here the abort forgets it."""
    bench, producer_id, epoch = opened(release, mode)
    assert bench.end(producer_id, epoch, committed=False)[0] == 0
    assert bench.add(producer_id, epoch) == 0
    assert bench.produce(producer_id, epoch, sequence=0) == reported


@pytest.mark.parametrize(("release", "epoch", "ended"), [("4.0", 3, False), ("4.3", 3, True), ("4.3", 2, False)])
def test_a_marker_of_the_epoch_that_is_never_handed_out(release, epoch, ended):
    """txn.23: A v2 marker with the reserved epoch ends what is open under that epoch (KAFKA-20090)."""
    bench = Bench(V1, release=release, max_epoch=3)
    assert bench.produce(7, epoch, 0)[0] == 0
    reported = bench.marker(7, epoch, committed=False, version=2)
    assert reported == (ErrorCode.NONE if ended else ErrorCode.INVALID_PRODUCER_EPOCH)
    assert (bench.log().last_stable_offset() == 0) != ended


@pytest.mark.parametrize(("release", "mode", "known"), [
    ("4.3", VERIFIED, False), ("trunk", V1, False), ("trunk", VERIFIED, True), ("trunk", V2, True),
])  # fmt: skip
def test_the_last_epoch_after_a_fail_over(release, mode, known):
    """txn.2, txn.25: Since KAFKA-20357 a bump whose answer was lost is answered again after a fail-over, but not in v1,
    whose records lack the previous epoch."""
    bench = Bench(mode, release=release)
    _, producer_id, epoch = bench.init()
    bumped = bench.init(producer_id, epoch)
    assert bumped == (0, producer_id, epoch + 1)
    bench.system.fail_over()
    again = bench.init(producer_id, epoch)
    assert again == (bumped if known else (ErrorCode.PRODUCER_FENCED, -1, -1))

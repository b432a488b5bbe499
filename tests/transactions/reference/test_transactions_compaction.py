"""The cleaner of a compacted partition removes certain records at certain times, and the next leader reads the rest."""

from fencepost.properties.transactions.scenarios.known import Script
from fencepost.reference_impl.kafka.log import DELETE_RETENTION_MS, CompactedLog
from fencepost.reference_impl.systems.transactions import Parts, build

RECORD, MARKER = -1, (0, 1)


def two_transactions(first="commit", second="commit"):
    """Let slot 0 end two transactions of a record each, at offsets 0 to 3 of partition 0."""
    script = Script(build({**Script.SMALL, "mode": "v1"}, Parts(log=CompactedLog)))
    script.start(0)
    for end in (first, second):
        script.begin(0, 0)
        getattr(script, end)(0)
    return script, script.system.leaders[0].log


def test_an_aborted_record_goes_at_once_and_its_marker_later():
    """txn.17: The marker stays as long as a reader may have read up to the record."""
    script, log = two_transactions("abort")
    log.clean()
    assert log.gone == {0}
    assert log.aborted == []
    log.clean()
    script.system.advance(DELETE_RETENTION_MS - 1)
    log.clean()
    assert log.gone == {0}
    script.system.advance(1)
    log.clean()
    assert log.gone == {0, 1}
    assert script.read() == [1]


def test_a_record_goes_when_a_later_one_has_its_key():
    script, log = two_transactions()
    log.keys.update({0: b"key", 1: b"key"})
    log.clean()
    assert log.gone == {0}
    assert script.system.read(0, 0) == [(2, 1)]
    script, log = two_transactions(second="abort")
    log.keys.update({0: b"key", 1: b"key"})
    log.clean()
    assert log.gone == {2}
    assert script.system.read(0, 0) == [(0, 0)]


def test_what_is_undecided_is_left():
    """txn.P4: An open transaction's record is not removed, and removes no other record."""
    script, log = two_transactions("abort")
    script.begin(0, 0)
    log.keys.update({1: b"key", 2: b"key"})
    log.clean()
    assert log.gone == {0}
    script.commit(0)
    log.clean()
    assert log.gone == {0, 2}
    assert script.read() == [2]


def test_what_is_copied_keeps_its_key():
    script, log = two_transactions()
    log.keys.update({0: b"key", 1: b"key"})
    log.clean(mapped_upto=2)
    assert log.gone == set()
    script, log = two_transactions(second="abort")
    log.clean(mapped_upto=2)
    assert log.gone == {2}
    assert script.read() == [0]


def test_the_next_leader_knows_the_numbers_of_what_is_gone():
    """txn.13: The producer continues in its epoch with the number after a removed aborted record."""
    script, log = two_transactions(second="abort")
    log.clean()
    script.system.change_leader(0)
    assert script.system.leaders[0].log.gone == {2}
    script.begin(0, 0)
    script.commit(0)
    assert script.read() == [0, 2]

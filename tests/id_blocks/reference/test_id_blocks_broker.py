"""These tests check the broker's half of KIP-730, one rule at a time."""

import pytest
from block_bench import deliver_all, fetch_block, settle
from fencepost.reference_impl.kafka.errors import IdErrorCode
from fencepost.reference_impl.kafka.messages import AllocateProducerIdsResponse, IdResponseBody

LOADING = (IdErrorCode.COORDINATOR_LOAD_IN_PROGRESS, -1)


def demand(system, broker, times):
    return [system.init_producer_id(broker)[1] for _ in range(times)]


def test_block_lives_in_memory_only(cluster):
    """730.3: A restart loses the rest of the broker's block, and the gap in the ids stays."""
    system = cluster()
    fetch_block(system, 0)
    assert demand(system, 0, 3) == [0, 1, 2]
    system.restart_broker(0)
    assert system.init_producer_id(0) == LOADING
    settle(system)
    assert demand(system, 0, 2) == [10, 11]


def test_broker_uses_answer_at_once(cluster):
    """730.11: The broker uses the block in the answer. No broker ever reads the record."""
    system = cluster()
    fetch_block(system, 0)
    assert system.init_producer_id(0) == (0, 0)


@pytest.mark.parametrize(("size", "prefetch", "at"), [(10, 0.9, 9), (10, 0.5, 5), (7, 0.9, 6), (1, 0.9, 0)])
def test_next_block_is_prefetched_at_the_mark(cluster, size, prefetch, at):
    """730.12: The broker asks for the next block when it hands out id first + floor(size * share)."""
    system = cluster(block_size=size, prefetch=prefetch)
    fetch_block(system, 0)
    demand(system, 0, at)
    assert system.messages() == []
    demand(system, 0, 1)
    assert [message[1] for message in system.messages()] == ["request"]


def test_prefetched_block_is_installed_when_the_current_is_used_up(cluster, only):
    """730.12: No client is refused while a prefetched block is in reserve."""
    system = cluster()
    fetch_block(system, 0)
    ids = []
    for _ in range(35):
        ids += demand(system, 0, 1)
        settle(system)
    assert ids == list(range(35))
    assert [event.first for event in only(system.drain_events(), "block_installed")] == [0, 10, 20, 30]


def test_prefetching_can_be_switched_off(cluster):
    """730.12: Without prefetching, a broker asks for a block only when a client finds none."""
    system = cluster(prefetch=0)
    fetch_block(system, 0)
    assert demand(system, 0, 10) == list(range(10))
    assert system.messages() == []
    assert system.init_producer_id(0) == LOADING
    assert len(system.messages()) == 1


def test_one_request_at_a_time(cluster):
    """730.12: A broker has one request in flight until its block is installed, however many clients ask."""
    system = cluster()
    for _ in range(5):
        assert system.init_producer_id(0) == LOADING
    assert len(system.messages()) == 1
    settle(system)
    assert demand(system, 0, 9) == list(range(9))
    assert system.messages() == []


def test_second_copy_of_an_answer_is_dropped(cluster, kinds):
    """730.19: A broker installs the block of an answer at most once."""
    system = cluster()
    system.init_producer_id(0)
    deliver_all(system)
    system.commit()
    number = system.messages()[0][0]
    system.deliver(number, keep=True)
    system.drain_events()
    system.deliver(number)
    assert kinds(system.drain_events()) == ["answer_dropped"]


def test_answer_to_an_earlier_life_is_dropped(cluster, kinds):
    """730.19: Only the outstanding request's answer counts, so a restart leaves old answers without effect."""
    system = cluster()
    system.init_producer_id(0)
    deliver_all(system)
    system.commit()
    old = system.messages()[0][0]
    system.restart_broker(0)
    system.init_producer_id(0)
    system.drain_events()
    system.deliver(old)
    assert kinds(system.drain_events()) == ["answer_dropped"]


def test_late_answer_is_dropped_after_a_time_out(cluster, only):
    """730.19, 730.5: A request that timed out is given up without back-off, and its late answer is ignored."""
    system = cluster(request_timeout_ms=1000)
    system.init_producer_id(0)
    deliver_all(system)
    system.commit()
    system.advance(999)
    assert not only(system.drain_events(), "request_timed_out")
    system.advance(1)
    system.init_producer_id(0)
    settle(system)
    events = system.drain_events()
    assert len(only(events, "request_timed_out")) == 1
    assert [event.request for event in only(events, "answer_dropped")] == [0]
    assert system.init_producer_id(0) == (0, 10)


def test_late_answer_is_dropped_before_the_next_request_too(cluster, kinds):
    """730.19: No request is outstanding after a time-out, whether or not another one has been sent since."""
    system = cluster()
    system.init_producer_id(0)
    deliver_all(system)
    system.commit()
    system.advance(1000)
    system.drain_events()
    deliver_all(system)
    assert kinds(system.drain_events()) == ["answer_dropped"]


def test_time_out_makes_the_broker_look_for_the_controller(cluster):
    """730.5: After a time-out the next request goes to the controller that is active now."""
    system = cluster(controller_discovery="at_sending")
    system.init_producer_id(0)
    system.fail_over()
    system.drop(0)
    system.advance(1000)
    fetch_block(system, 0)
    assert system.init_producer_id(0) == (0, 0)


def answer_by_hand(system, start, length, error=0):
    """Give broker 0 an arbitrary answer to its outstanding request."""
    ids = system.brokers[0].ids
    ids.answer(IdResponseBody(ids.outstanding, AllocateProducerIdsResponse(0, error, start, length), -1))


MALFORMED = [(-1, 10), (-5, 2), (10, -1), (991, 10), (1000, 1)]
NOT_ABOVE_NINE = [(9, 10), (0, 10), (5, 1)]


@pytest.mark.parametrize(("start", "length"), MALFORMED + NOT_ABOVE_NINE)
def test_insane_block_is_refused(cluster, kinds, start, length):
    """730.20: The broker refuses malformed blocks and blocks that start at or below its last id, and backs off."""
    system = cluster()
    fetch_block(system, 0)
    demand(system, 0, 10)
    system.drain_events()
    answer_by_hand(system, start, length)
    assert kinds(system.drain_events()) == ["answer_refused"]
    assert (system.init_producer_id(0), kinds(system.drain_events())) == (LOADING, ["id_refused"])
    system.advance(50)
    system.init_producer_id(0)
    assert kinds(system.drain_events()) == ["backoff_over", "request_sent", "id_refused"]


@pytest.mark.parametrize(("start", "length"), [(10, 10), (990, 10), (10, 0)])
def test_sane_block_is_taken(cluster, kinds, start, length):
    """730.20: The broker accepts every block that starts above its last id, up to the end of all ids."""
    system = cluster()
    fetch_block(system, 0)
    demand(system, 0, 10)
    system.drain_events()
    answer_by_hand(system, start, length)
    assert kinds(system.drain_events()) == ["answer_taken"]


def test_empty_blocks_do_not_trap_the_broker(cluster):
    """730.20: A block of length 0 passes the shipped check, and the broker skips it and asks again."""
    system = cluster()
    system.init_producer_id(0)
    answer_by_hand(system, 0, 0)
    assert system.init_producer_id(0) == LOADING
    assert len(system.messages()) == 2


def test_error_answer_starts_a_back_off_of_50_ms(cluster, kinds):
    """730.5: After an error the broker sends nothing for 50 ms. The next demand after that sends a request."""
    system = cluster()
    system.unregister_broker(0)
    fetch_block(system, 0)
    system.advance(49)
    system.init_producer_id(0)
    assert system.messages() == []
    system.advance(1)
    system.drain_events()
    system.init_producer_id(0)
    assert kinds(system.drain_events()) == ["backoff_over", "request_sent", "id_refused"]


@pytest.mark.rule("730.5")
def test_back_off_ends_once(cluster, only):
    """730.5: A back-off that is over is forgotten, so that a later time-out does not end it again."""
    system = cluster()
    system.unregister_broker(0)
    fetch_block(system, 0)
    for _ in range(3):
        system.advance(1000)
        system.init_producer_id(0)
    events = system.drain_events()
    assert (len(only(events, "backoff_over")), len(only(events, "request_timed_out"))) == (1, 2)


def test_nothing_is_sent_without_a_demand(cluster):
    """730.5: There is no timer for retries, and a broker sends a request only when a client asks for an id."""
    system = cluster()
    system.unregister_broker(0)
    fetch_block(system, 0)
    system.advance(3_600_000)
    assert system.messages() == []


def test_broker_that_keeps_asking_gets_an_id_once_faults_stop(cluster):
    """730.P3: Whatever was lost before, some later demand is answered with an id."""
    system = cluster()
    system.init_producer_id(0)
    system.drop(0)
    system.fail_over()
    system.advance(2000)
    fetch_block(system, 0)
    assert system.init_producer_id(0)[0] == 0


def test_paused_broker_answers_late_and_loses_nothing(cluster):
    """730.12: A pause delays answers and time-outs alike, and a block that arrived meanwhile is used afterwards."""
    system = cluster()
    system.init_producer_id(0)
    deliver_all(system)
    system.commit()
    system.brokers[0].pause()
    deliver_all(system)
    system.advance(5000)
    system.brokers[0].resume()
    assert system.init_producer_id(0) == (0, 0)

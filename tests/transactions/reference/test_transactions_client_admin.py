"""618.12, 618.13, txn.22: Admin.fenceProducers is tested against a coordinator and against answers by hand."""

import pytest
from fencepost.properties.transactions.scenarios.known import Script
from fencepost.reference_impl.kafka.clients.admin import Fenced
from fencepost.reference_impl.kafka.messages import InitProducerIdResponse, ResponseBody
from fencepost.reference_impl.systems.transactions import Parts


@pytest.fixture
def script():
    """Return a script on a v2 cluster with two producer slots."""
    return Script.of_reference()


def admin_of(script):
    admin = Parts().admin(script.system.env, 7)
    script.system.env.network.nodes["admin-7"] = admin
    return admin


def answer(script, admin, error, producer_id=-1, epoch=-1):
    message = next(m for m in script.system.env.network.in_flight.values() if m.source == "admin-7")
    script.system.drop(message.number)
    reply = type(message)(-1, "init_answer", "coordinator", "admin-7", None)
    reply.body = ResponseBody(message.body.number, InitProducerIdResponse(error, producer_id, epoch))
    admin.arrive(reply)
    return message.body.data


@pytest.mark.rule("618.13", "txn.22")
def test_every_id_has_its_own_result(script):
    """618.13, txn.22: Each id has a result with its producer id and epoch, and unknown ids are created."""
    script.start(0)
    script.begin(0, 0)
    result = admin_of(script).fence_producers([0, 5])
    assert result.fenced_producers() == {0: None, 5: None}
    assert result.all() is None
    script.settle()
    assert result.fenced_producers() == {0: Fenced(0, 0, 3), 5: Fenced(0, 1, 0)}
    assert result.all() == 0


def test_fenced_producer_cannot_commit(script):
    """618.12: The open transaction is aborted before success, and its producer is refused from then on."""
    script.start(0)
    script.begin(0, 0)
    assert script.system.fence()
    script.settle()
    script.commit(0)
    (reported,) = script.kinds("end_told")
    assert reported.error == 90
    assert script.read() == []
    assert [event.error for event in script.kinds("fence_told")] == [0]


def test_fence_names_no_pair(script):
    """618.12: The admin sends InitProducerId with producer id -1 and epoch -1."""
    admin = admin_of(script)
    admin.fence_producers([3])
    data = answer(script, admin, 0, 9, 4)
    assert (data.transactional_id, data.producer_id, data.producer_epoch) == (3, -1, -1)


@pytest.mark.parametrize("error", [14, 51, 15, 16])
def test_errors_that_pass_are_retried(script, error):
    """618.12: Errors 14 and 51 are retried in place, and 15 and 16 after another coordinator look-up."""
    admin = admin_of(script)
    result = admin.fence_producers([3])
    answer(script, admin, error)
    assert result.fenced_producers() == {3: None}
    script.system.advance(100)
    answer(script, admin, 0, 9, 4)
    assert result.fenced_producers() == {3: Fenced(0, 9, 4)}


@pytest.mark.parametrize("error", [-1, 31, 42, 47, 50, 53, 90])
@pytest.mark.rule("618.13")
def test_other_errors_fail_their_id_and_the_whole(script, error):
    """618.13: The result `all` fails if any id failed, and the other ids have their own results."""
    admin = admin_of(script)
    result = admin.fence_producers([3, 4])
    answer(script, admin, error)
    assert result.all() == error
    answer(script, admin, 0, 9, 4)
    assert result.fenced_producers() == {3: Fenced(error, -1, -1), 4: Fenced(0, 9, 4)}
    assert result.all() == error
    script.system.advance(60_000)
    assert not script.flying("init")


def test_lost_answer_is_asked_for_again(script):
    """618.12: After the request time-out a new request is sent, and the answer to the first is ignored."""
    admin = admin_of(script)
    result = admin.fence_producers([0])
    script.hold_next("init_answer")
    script.lose("init_answer")
    script.settle(31_000)
    assert result.fenced_producers() == {0: Fenced(0, 0, 1)}


def test_same_id_twice_is_one_request(script):
    """618.13: The results are by id."""
    result = admin_of(script).fence_producers([2, 2])
    assert len(script.flying("init")) == 1
    script.settle()
    assert list(result.fenced_producers()) == [2]

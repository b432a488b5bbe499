"""Asking the leader for a round of fencing: within the worker if it leads itself, else over the endpoint (618.10).

The asker waits as long as its request may be answered; the answer travels back as an operation of its own. A request
that reaches a worker which does not lead is forwarded (endpoint.py).
"""

from functools import partial
from typing import TYPE_CHECKING

from fencepost.reference_impl.task_counts.events import Kind
from fencepost.reference_impl.task_counts.herder.endpoint import (
    BODY,
    SERVER_ERROR,
    FenceRequest,
    Receiver,
    Verdict,
    trace,
)
from fencepost.reference_impl.task_counts.herder.requests import Reply
from fencepost.reference_impl.task_counts.herder.session_keys import key_in, sign
from fencepost.reference_impl.task_counts.tasks.threads import OperationError, Script, Wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.reference_impl.task_counts.herder.herder import Herder

NONE = -1


def ask_for_round(herder: "Herder", connector: str, task: int, given_up: "Callable[[], bool]") -> Script:
    """Ask, and wait; returns the `Reply`, whose status is 0 if it was `given_up` meanwhile. Never raises."""
    env = herder.env
    number = env.next_request()
    reply = Reply()
    try:
        local = yield herder.operation("ask", partial(send, herder, connector, task, number, reply), connector, task)
        leader = herder.leader
        life = env.workers[leader].lives
        deadline = env.now_ms + env.config.rest_timeout_ms

        def over() -> bool:
            gone = env.workers[leader].lives != life or env.workers[leader].herder is None
            if gone or env.now_ms >= deadline:
                reply.settle(SERVER_ERROR, trace(SERVER_ERROR, connector, "the leader does not answer"))
            return reply.status != 0 or given_up()

        yield Wait(over)
        if reply.status and not local:
            yield herder.operation("answer", lambda: None, connector, task)
    except OperationError as error:
        reply = Reply(SERVER_ERROR, trace(SERVER_ERROR, connector, str(error)))
    if reply.status:
        env.emit(
            Kind.ROUND_ANSWERED, node=herder.node, connector=env.numbers[connector], task=task, request=number,
            status=reply.status,
        )  # fmt: skip
    return reply


def send(herder: "Herder", connector: str, task: int, number: int, reply: Reply) -> bool:
    """The request reaches the worker that the asker takes for the leader; True if that is itself. Raises
    OperationError."""
    env = herder.env
    env.emit(Kind.ROUND_ASKED, node=herder.node, connector=env.numbers[connector], task=task, request=number)
    if herder.is_leader:
        herder.submit(partial(herder.rounds.serve, connector, number, reply))
        return True
    request = FenceRequest(connector, sign(key_in(herder.view.state.session_key), BODY))
    deliver(herder, herder.leader, request, number, reply)
    return False


def deliver(herder: "Herder", target: int, request: FenceRequest, number: int, reply: Reply) -> None:
    """The request arrives at a worker. Raises OperationError if that worker is down."""
    receiver = herder.env.workers[target].herder if target != NONE else None
    if receiver is None:
        raise OperationError("ask", reason="connection refused")
    herder.env.threads.start(target, receive(receiver, request, number, reply))


def receive(herder: "Herder", request: FenceRequest, number: int, reply: Reply) -> Script:
    """The thread of the worker that got the request (a stalled one gets to it later)."""
    state = herder.view.state
    names = frozenset(state.names())
    known = Receiver(herder.serves, key_in(state.session_key), herder.node, herder.leader, names, names)
    decision = herder.endpoint.decide(request, known)
    if decision.verdict is Verdict.ANSWER:
        reply.settle(decision.status, trace(decision.status, request.connector))
    elif decision.verdict is Verdict.ROUND:
        herder.submit(partial(herder.rounds.serve, request.connector, number, reply))
    else:
        assert decision.request is not None, "a request is forwarded as one"
        act = partial(deliver, herder, decision.target, decision.request, number, reply)
        try:
            yield herder.operation("ask", act, request.connector)
        except OperationError as error:
            reply.settle(SERVER_ERROR, trace(SERVER_ERROR, request.connector, str(error)))

"""This module has a round of fencing: how a worker asks for it, and how the leader fences, checks and writes the task
count record."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from fencepost.reference_impl.connect import config_records
from fencepost.reference_impl.connect.brokers import of_fencing, task_transactional_id
from fencepost.reference_impl.connect.config import Kind
from fencepost.reference_impl.connect.config_records import OK, ClusterConfigState, key_in, sign
from fencepost.reference_impl.connect.requests import (
    BODY,
    CONFLICT,
    NOT_FOUND,
    SERVER_ERROR,
    FenceRequest,
    Receiver,
    Reply,
    Request,
    Verdict,
    trace,
)
from fencepost.reference_impl.connect.threads import OperationError, Script, Wait
from fencepost.reference_impl.kafka.clients.admin import Admin
from fencepost.reference_impl.kafka.errors import error_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.reference_impl.connect.herder import Herder


# A worker asks the leader for a round of fencing within the worker if it leads itself, otherwise over the endpoint
# (618.10).
#
# The requester waits as long as its request may be answered; the answer returns as an operation of its own. A request
# that reaches a worker which does not lead is forwarded (requests.py).

NONE = -1
IDLE = "IO Error trying to forward REST request: idle time-out expired"


def ask_for_round(herder: "Herder", connector: str, task: int, given_up: "Callable[[], bool]") -> Script:
    """Ask for a round and return the `Reply`; its status is 0 if the caller has `given_up` meanwhile."""
    env = herder.env
    number = env.next_request()
    target = herder.leader if herder.forwards_in_turn else NONE
    reply = yield from herder.forwarded(partial(exchange, herder, connector, task, number, target), given_up)
    if reply is None:
        return Reply()
    if reply.status:
        env.emit(
            Kind.ROUND_ANSWERED, node=herder.node, connector=env.numbers[connector], task=task, request=number,
            status=reply.status,
        )  # fmt: skip
    return reply


def exchange(
    herder: "Herder", connector: str, task: int, number: int, target: int, given_up: "Callable[[], bool]"
) -> Script:
    """Send the request, to this ``target`` or by default to the worker that the sender takes for the leader now, and
    return the `Reply`. A request to another worker fails at once if that ends, and when it has been idle for too
    long."""
    env = herder.env
    reply = Reply()
    try:
        ask = partial(send, herder, connector, task, number, reply, target)
        local = yield herder.operation("ask", ask, connector, task)
        leader = herder.leader if target == NONE else target
        life = env.workers[leader].lives
        deadline = env.now_ms + env.config.rest_timeout_ms
        idle = herder.idle_deadline(leader)

        def over() -> bool:
            gone = env.workers[leader].lives != life or env.workers[leader].herder is None
            if gone or env.now_ms >= deadline:
                reply.settle(SERVER_ERROR, trace(SERVER_ERROR, connector, "the leader does not answer"))
            elif env.now_ms >= idle:
                reply.settle(SERVER_ERROR, trace(SERVER_ERROR, connector, IDLE))
            return reply.status != 0 or given_up()

        yield Wait(over)
        if reply.status and not local:
            yield herder.operation("answer", lambda: None, connector, task)
    except OperationError as error:
        reply = Reply(SERVER_ERROR, trace(SERVER_ERROR, connector, str(error)))
    return reply


def send(herder: "Herder", connector: str, task: int, number: int, reply: Reply, target: int = NONE) -> bool:
    """Send the request to the leader; return True if that is the sender itself. Raise OperationError if it fails."""
    env = herder.env
    env.emit(Kind.ROUND_ASKED, node=herder.node, connector=env.numbers[connector], task=task, request=number)
    if herder.is_leader and target == NONE:
        herder.submit(partial(herder.rounds.serve, connector, number, reply))
        return True
    request = FenceRequest(connector, sign(key_in(herder.view.state.session_key), BODY))
    deliver(herder, herder.leader if target == NONE else target, request, number, reply)
    return False


def deliver(herder: "Herder", target: int, request: FenceRequest, number: int, reply: Reply) -> None:
    receiver = herder.env.workers[target].herder if target != NONE else None
    if receiver is None:
        raise OperationError("ask", reason="connection refused")
    herder.env.threads.start(target, receive(receiver, request, number, reply))


def receive(herder: "Herder", request: FenceRequest, number: int, reply: Reply) -> Script:
    """Handle the request on a thread of the worker that got it; a stalled worker does this later."""
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


# In a round of zombie fencing, the leader fences as many ids as the latest count record has, then writes the next count
# record.
#
# The herder thread decides and writes; a thread of the round's own does the fencing, so that rounds of different
# connectors run in parallel (618.9). Between the check of the topic's end that follows the fencing and the write, the
# herder thread does nothing else: it cannot lose and regain the write privilege there (618.43). The round's own thread
# removes a round that is over, later: a request in between finds it, and has to be answered for its own set.
# (DistributedHerder.doFenceZombieSourceTasks, ZombieFencing: there the thread is the admin client's)


@dataclass(eq=False, slots=True)
class Round:
    """A `Round` is one round of fencing. ``set`` is the set that it is for, and ``generation`` is the leader's number
    of that set. The round ended with ``status`` if ``over`` is true."""

    connector: str
    request: int
    set: int
    generation: int
    to_fence: int
    to_record: int
    replies: list[Reply] = field(default_factory=list)
    fenced: bool = False  # every id is
    cancelled: bool = False  # a newer set has been read: it fences on, and writes nothing
    over: bool = False  # with `status`, and the trace of a failure
    status: int = 0
    trace: str = ""


class Rounds:
    """`Rounds` has all rounds of one worker while it leads; every rule of a round is a method."""

    admin = Admin  # fences

    def __init__(self, herder: "Herder") -> None:
        self.herder = herder
        self.env = herder.env
        self.active: dict[str, Round] = {}

    # The rules

    def must_fence(self, count: int, size: int) -> bool:
        """Return whether a round fences anything; from one task to one, the new one fences the old (618.5)."""
        return not (count == 1 and size == 1)

    def ids(self, round: Round) -> Iterable[int]:
        """Return the tasks to fence: from 0, as many as the latest task count record has (618.6)."""
        return range(round.to_fence)

    def count_to_record(self, state: ClusterConfigState, connector: str) -> int:
        """Return the count for the new record: the size of the newest committed set (618.42)."""
        return state.task_counts.get(connector, 0)

    def is_overtaken(self, round: Round) -> bool:
        """Return whether a set newer than the round's was committed (618.43)."""
        return self.herder.view.state.generation(round.connector) != round.generation

    def may_join(self, round: Round) -> bool:
        """Return whether a task that asks now, for the newest set, gets the answer of this round. It does not if the
        round is over and was for another set (618.4). As released, Kafka answers with the result of such a round all
        the same."""
        newest = self.herder.view.state.commits.get(round.connector)
        return not round.over or round.set == newest

    def all_fenced(self, errors: list[int]) -> bool:
        """Return whether the task count record may be written: only after every fencing succeeded (618.7)."""
        return not any(errors)

    # A round that was asked for (M, B, shipped)

    def serve(self, connector: str, number: int, reply: Reply, request: Request) -> Script:
        """Read the config topic to its end on the herder's thread, and decide what has to be done."""
        herder = self.herder
        try:
            yield herder.operation("start_round", herder.view.read_to_end, connector)
            round = self.prepare(connector, number)
            if not herder.is_leader:
                reply.settle(CONFLICT, trace(CONFLICT, connector, "not the leader any more"))
            elif not herder.view.state.is_known(connector):
                reply.settle(NOT_FOUND, trace(NOT_FOUND, connector))
            elif not herder.view.state.needs_fencing(connector):
                reply.settle(OK)  # the latest count record stands after the latest set
            elif not self.has_producers_to_fence(connector):
                round.replies.append(reply)
                self.start(round)
                yield from self.conclude(round)
            elif connector in self.active and self.may_join(self.active[connector]):
                self.join(self.active[connector], reply)
            else:
                round.replies.append(reply)
                self.start(round)
                self.active[connector] = round
                self.env.threads.start(herder.node, self.fence_and_hand_over(round))
        except OperationError as error:
            reply.settle(SERVER_ERROR, trace(SERVER_ERROR, connector, str(error)))
        request.finish()

    def join(self, round: Round, reply: Reply) -> None:
        """Wait for the end of a round; a round that is over answers at once."""
        if round.over:
            reply.settle(round.status, round.trace)
        else:
            round.replies.append(reply)

    def has_producers_to_fence(self, connector: str) -> bool:
        """Return whether there is a task count record, and the round is not from one task to one."""
        state = self.herder.view.state
        count = state.count(connector)
        return count is not None and self.must_fence(count, state.task_counts.get(connector, 0))

    def prepare(self, connector: str, number: int) -> Round:
        state = self.herder.view.state
        count = state.count(connector) or 0
        size = self.count_to_record(state, connector)
        return Round(connector, number, state.set_place(connector), state.generation(connector), count, size)

    def start(self, round: Round) -> None:
        fences = self.has_producers_to_fence(round.connector)
        self.emit(Kind.ROUND_STARTED, round, count=len(list(self.ids(round))) if fences else 0)

    def fence_and_hand_over(self, round: Round) -> Script:
        """Fence on the round's own thread, let the herder conclude, and remove the round at its end."""
        yield from self.fence(round)
        if round.fenced:
            self.herder.submit(partial(self.check_and_conclude, round))
        yield from self.take_out(round)

    def take_out(self, round: Round) -> Script:
        """Remove a round from those under way some time after it is over, for whatever reason."""
        yield Wait(lambda: round.over)
        while True:
            try:
                yield self.herder.operation("end_round", partial(self.remove, round), round.connector)
            except OperationError:
                continue  # nothing outside of the worker takes part, so that nothing is given up
            return

    def remove(self, round: Round) -> None:
        """Remove the round unless another round has taken its place."""
        if self.active.get(round.connector) is round:
            del self.active[round.connector]

    def fence(self, round: Round) -> Script:
        """Fence every transactional id. A failure fails the round: nothing is written."""
        errors = []
        for task in self.ids(round):
            try:
                act = partial(self.fence_one, round, task)
                errors.append((yield self.herder.operation("fence", act, round.connector, task)))
            except OperationError as error:
                self.emit(Kind.ID_FENCED, round, task=task, error=error.code)
                errors.append(error.code)
            if not self.all_fenced(errors):
                self.fail(round, errors[-1], f"fencing task {task} failed with {error_text(errors[-1])}")
                return
        round.fenced = True

    def fence_one(self, round: Round, task: int) -> int:
        """Fence one id as the connector's admin principal (618.12, 618.47), and return Kafka's error code."""
        env, group = self.env, self.env.config.group_id
        error = env.brokers.acls.error(of_fencing(group, round.connector, task))
        if error:
            self.emit(Kind.ID_FENCED, round, task=task, error=error)
            return error
        fenced = env.brokers.fence(task_transactional_id(group, round.connector, task), self.admin)
        self.emit(
            Kind.ID_FENCED, round, task=task, producer_id=fenced.producer_id, epoch=fenced.epoch, error=fenced.error
        )
        return fenced.error

    def check_and_conclude(self, round: Round, request: Request) -> Script:
        """Check for a newer set and write the task count record, on the herder's thread (618.43)."""
        request.finish()
        if round.over:
            return
        try:
            yield self.herder.operation("check_round", partial(self.check, round), round.connector)
        except OperationError as error:
            self.fail(round, error.code, str(error))
            return
        if not round.over:
            yield from self.conclude(round)

    def check(self, round: Round) -> None:
        """Read to the end of the config topic, and end the round if there is a newer set."""
        self.herder.view.read_to_end()
        overtaken = round.cancelled or self.is_overtaken(round)
        self.emit(Kind.ROUND_CHECKED, round, status=CONFLICT if overtaken else OK)
        if overtaken:
            self.finish(round, CONFLICT, "a newer set of task configurations was committed")

    def conclude(self, round: Round) -> Script:
        """Write the task count record, and answer all requests that wait for the round."""
        record = config_records.count_record(self.env.config.mode, round.connector, round.to_record)
        try:
            yield from self.herder.write([record], round.connector, "write_count")
        except OperationError as error:
            self.fail(round, error.code, str(error))
        else:
            self.finish(round, OK)

    # Ends

    def overtake(self, connector: str) -> None:
        """Cancel a round under way because a new set has been read. A task that asks before the round has fenced all
        its ids joins it all the same, and is answered 409 like the others."""
        round = self.active.get(connector)
        if round is not None:
            round.cancelled = True

    def fail(self, round: Round, error: int, cause: str) -> None:
        """Fail the round, and with it all requests that wait for it (618.11)."""
        if not round.over:
            self.emit(Kind.ROUND_FAILED, round, status=SERVER_ERROR, error=error)
            self.finish(round, SERVER_ERROR, cause)

    def finish(self, round: Round, status: int, cause: str = "") -> None:
        round.over = True
        round.status = status
        round.trace = trace(status, round.connector, cause) if cause else ""
        for reply in round.replies:
            reply.settle(status, round.trace)

    # Rounds within an assignment (A)

    def in_assignment(self) -> Script:
        """Fence for every connector that needs it, in parallel, then write the task count records (618.8, 618.9)."""
        herder = self.herder
        state = herder.view.state
        rounds = [self.prepare(name, self.env.next_request()) for name in state.names() if state.needs_fencing(name)]
        for round in rounds:
            self.start(round)
            if self.has_producers_to_fence(round.connector):
                self.env.threads.start(herder.node, self.fence(round))
            else:
                round.fenced = True
        yield Wait(lambda: all(round.fenced or round.over for round in rounds))
        for round in rounds:
            if round.fenced:
                yield from self.conclude(round)

    def emit(
        self, kind: int, round: Round, task: int = -1, count: int = -1, producer_id: int = -1, epoch: int = -1,
        status: int = -1, error: int = 0,
    ) -> None:  # fmt: skip
        self.env.emit(
            kind, node=self.herder.node, connector=self.env.numbers[round.connector], task=task, set=round.set,
            count=count, request=round.request, producer_id=producer_id, epoch=epoch, status=status, error=error,
        )  # fmt: skip

"""This module has the admin client's fenceProducers, which fences the producer of a transactional id without becoming
its producer.

    result = admin.fence_producers([3, 5])       # one InitProducerId without a pair for each id (618.12)
    result.fenced_producers()[3]                 # Fenced(error=0, producer_id=…, epoch=…), None while unanswered
    result.all()                                 # 0, or the error of the first id that failed (618.13)

The source is FenceProducersHandler.java.
"""

from collections.abc import Iterable
from typing import NamedTuple

from fencepost.reference_impl.kafka.clients.sends import RETRY_BACKOFF_US, CoordinatorCall, Question
from fencepost.reference_impl.kafka.environment import Environment, Kind
from fencepost.reference_impl.kafka.errors import ErrorCode
from fencepost.reference_impl.kafka.messages import InitProducerIdRequest, InitProducerIdResponse
from fencepost.reference_impl.simulation import Message, Node

# Kafka repeats some requests at the same coordinator and others after a new look-up, which is the same here, as the
# address moves.
RETRIED_IN_PLACE = frozenset({ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.CONCURRENT_TRANSACTIONS})
RETRIED_AFTER_LOOKUP = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})
RETRIED = RETRIED_IN_PLACE | RETRIED_AFTER_LOOKUP


class Fenced(NamedTuple):
    """A `Fenced` is the result for one id: the pair that no producer will use, or an error and (-1, -1)."""

    error: int
    producer_id: int
    epoch: int


class FenceProducersResult:
    """A `FenceProducersResult` has the result of each id in the requested order. The results arrive one by one."""

    def __init__(self, transactional_ids: Iterable[int]) -> None:
        self._results: dict[int, Fenced | None] = dict.fromkeys(transactional_ids)

    def fenced_producers(self) -> dict[int, Fenced | None]:
        """Return the pairs by transactional id, None while there is no answer."""
        return dict(self._results)

    def all(self) -> int | None:
        """Return the error of the first id that failed, or None while an answer is missing, or 0 (618.13)."""
        results = self._results.values()
        failed = next((result.error for result in results if result is not None and result.error), None)
        if failed is not None:
            return failed
        return None if None in results else 0

    def settle(self, transactional_id: int, fenced: Fenced) -> None:
        self._results[transactional_id] = fenced


class Admin(Node):
    """An `Admin` is one admin instance with the address `admin-<number>`."""

    retried = RETRIED
    result = FenceProducersResult

    def __init__(self, env: Environment, number: int) -> None:
        super().__init__(f"admin-{number}", env.kernel)
        self.env = env
        self.client = env.next_client()
        self.calls: list[CoordinatorCall] = []

    def fence_producers(self, transactional_ids: Iterable[int]) -> FenceProducersResult:
        """Fence the producers of these ids and return at once. Ids that no producer ever had are created (txn.22)."""
        ids = list(dict.fromkeys(transactional_ids))
        result = self.result(ids)
        for transactional_id in ids:
            call = CoordinatorCall(self.env, self)
            self.calls.append(call)
            call.start(self.question(transactional_id, call, result))
        return result

    def fence(self, transactional_id: int) -> bool:
        self.fence_producers([transactional_id])
        return True

    def question(self, transactional_id: int, call: CoordinatorCall, result: FenceProducersResult) -> Question:
        env, client = self.env, self.client

        def ask(request: int) -> InitProducerIdRequest:
            self.report_asked(transactional_id, request)
            return InitProducerIdRequest(transactional_id, env.config.request_timeout_ms)

        def answered(request: int, answer: InitProducerIdResponse) -> None:
            if answer.error_code in self.retried:
                call.retry(RETRY_BACKOFF_US)
                return
            call.finish()
            fenced = Fenced(self.final_error(answer.error_code), answer.producer_id, answer.producer_epoch)
            result.settle(transactional_id, fenced)
            env.emit(
                Kind.FENCE_TOLD, client=client, txn_id=transactional_id, request=request,
                producer_id=fenced.producer_id, epoch=fenced.epoch, error=fenced.error,
            )  # fmt: skip

        return Question("init", ask, answered)

    def report_asked(self, transactional_id: int, request: int) -> None:
        self.env.emit(Kind.INIT_SENT, client=self.client, txn_id=transactional_id, request=request)

    def final_error(self, error: int) -> int:
        """Return the reported error for a final answer. The failure of one id does not affect the others."""
        return error

    def receive(self, message: Message) -> None:
        for call in self.calls:
            call.answer(message.body)

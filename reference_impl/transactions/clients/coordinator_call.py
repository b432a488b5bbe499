"""The one request that a client has outstanding with a coordinator, and how it is repeated.

A producer asks its coordinator one thing at a time. A time-out or a retriable error asks the same thing again under a
new request number; from then on the answer to the older request no longer counts.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from fencepost.reference_impl.simulation import Node
from fencepost.reference_impl.transactions.environment import COORDINATOR, Environment
from fencepost.reference_impl.transactions.messages import RequestBody, ResponseBody

NONE = -1
RETRY_BACKOFF_US = 100_000  # retry.backoff.ms
# The first AddPartitionsToTxn usually meets only the end of the transaction before: it is over soon.
FIRST_ADD_BACKOFF_US = 20_000


class Question(NamedTuple):
    """A question to the coordinator: `ask` announces a request under its number and makes its data, `told` takes the
    answer to it."""

    kind: str
    ask: Callable[[int], Any]
    told: Callable[[int, Any], None]


class CoordinatorCall:
    """The outstanding `question`, None if there is none.

    `number` is that of the request whose answer counts, -1 during a back-off.
    """

    __slots__ = ("_attempt", "_env", "_node", "_target", "number", "question")

    def __init__(self, env: Environment, node: Node, target: str = COORDINATOR) -> None:
        self._env = env
        self._node = node
        self._target = target
        self.question: Question | None = None
        self._attempt = 0
        self.number = NONE

    @property
    def outstanding(self) -> bool:
        """Whether a question waits for its final answer, back-offs included."""
        return self.question is not None

    def start(self, question: Question) -> None:
        """Ask; the caller has checked that nothing is outstanding."""
        self.question = question
        self._send()

    def finish(self) -> None:
        """The question is answered, or given up: no answer counts any more."""
        self.question = None
        self._attempt += 1
        self.number = NONE

    def retry(self, backoff_us: int) -> None:
        """Ask the same again after a while."""
        self._attempt += 1
        self.number = NONE
        self._node.after(backoff_us, self._send_if, self._attempt)

    def answer(self, body: ResponseBody) -> None:
        """Hand the answer to the question it belongs to, unless it belongs to an older request or is a second copy."""
        if self.question is not None and self.counts(body.number):
            self.question.told(body.number, body.data)

    def counts(self, number: int) -> bool:
        """Whether the answer to this request is the one that is waited for."""
        return number == self.number

    def _send(self) -> None:
        question = self.question
        assert question is not None, "sent only while there is a question"
        self._attempt += 1
        self.number = number = self._env.next_request()
        data = question.ask(number)
        self._env.network.send(question.kind, self._node.name, self._target, RequestBody(number, data))
        self._node.after(self._env.config.request_timeout_ms * 1000, self._send_if, self._attempt)

    def _send_if(self, attempt: int) -> None:
        if attempt == self._attempt:
            self._send()

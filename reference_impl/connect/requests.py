"""This module has the requests that other threads and workers make to a herder, and the endpoint that takes requests
for a round of fencing."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from fencepost.reference_impl.connect.config_records import OK, SessionKey, Signature, signature_status
from fencepost.reference_impl.connect.threads import Script

# This section has requests that a worker's herder thread does in turn, and the answers of one worker to another.


@dataclass(eq=False, slots=True)
class Request:
    """A `Request` is one thing to do on the herder's thread. ``error`` is why it was not done, and empty if it was."""

    script: Callable[["Request"], Script]
    done: bool = False
    error: str = ""

    def finish(self, error: str = "") -> None:
        self.done = True
        self.error = error


@dataclass(eq=False, slots=True)
class Reply:
    """A `Reply` is the answer for which a requester of a round waits: an HTTP status, which is 0 as long as there is
    none, and the trace of a failure."""

    status: int = 0
    trace: str = ""

    def settle(self, status: int, trace: str = "") -> None:
        if not self.status:
            self.status = status
            self.trace = trace


# A round of fencing is asked for at the internal endpoint `PUT /connectors/<connector>/fence` (618.10).
#
# A worker that gets the request checks, in this order: whether it knows the endpoint at all (404), whether the request
# is signed (400, 503, 403), whether it leads (otherwise it forwards, over at most two hops, then 409), whether the
# connector exists (404), and whether it is a source connector (400). Only then does it start a round, or join the one
# under way, whose result is the answer: 200, 409 when a newer set was committed meanwhile, or 500 for any failure, with
# its trace.
#
# The endpoint is served whatever `exactly.once.source.support` is; only a version without the feature lacks it.
# (InternalClusterResource.java, HerderRequestHandler.java, DistributedHerder.java)

BAD_REQUEST, FORBIDDEN, NOT_FOUND, CONFLICT = 400, 403, 404, 409
SERVER_ERROR, UNAVAILABLE = 500, 503
BODY = b""  # a request for a round has no body

REASONS = {
    BAD_REQUEST: "Internal request missing required signature, or not for a source connector",
    FORBIDDEN: "Internal request contained invalid signature.",
    NOT_FOUND: "Unknown connector, or no such endpoint",
    CONFLICT: "Cannot complete request because of a conflicting operation (e.g. worker rebalance)",
    SERVER_ERROR: "The round of zombie fencing failed",
    UNAVAILABLE: "This worker has not been able to read a session key from the config topic yet",
}


class FenceRequest(NamedTuple):
    """A `FenceRequest` is one request for a round. ``forward`` is as in its query: None from the requester, True over
    the first hop, False over the second."""

    connector: str
    signature: Signature | None
    forward: bool | None = None

    @property
    def path(self) -> str:
        query = "" if self.forward is None else f"?forward={str(self.forward).lower()}"
        return f"/connectors/{self.connector}/fence{query}"


class Receiver(NamedTuple):
    """A `Receiver` is what the worker that gets a request knows at that moment."""

    serves: bool  # its version has the endpoint
    key: SessionKey | None
    worker: int
    leader: int  # the worker that it takes for the leader, -1 if it knows none (a rebalance is under way)
    connectors: frozenset[str]
    sources: frozenset[str]  # those of them that are source connectors


class Verdict(Enum):
    """A `Verdict` is the kind of decision on a request."""

    ANSWER = "answer"  # at once, with a status
    FORWARD = "forward"  # to the leader
    ROUND = "round"  # by the leader's round


class Decision(NamedTuple):
    """A `Decision` on a request has a ``status`` with ANSWER, or a ``target`` and a request for it with FORWARD."""

    verdict: Verdict
    status: int = OK
    target: int = -1
    request: FenceRequest | None = None


def answered(status: int) -> Decision:
    return Decision(Verdict.ANSWER, status)


class FenceEndpoint:
    """A `FenceEndpoint` decides on requests, with one method for each condition."""

    __slots__ = ()

    def decide(self, request: FenceRequest, receiver: Receiver) -> Decision:
        if not receiver.serves:
            return answered(NOT_FOUND)
        status = self.signature_status(request, receiver)
        if status != OK:
            return answered(status)
        if receiver.leader != receiver.worker:
            return self.pass_on(request, receiver)
        status = self.connector_status(request.connector, receiver)
        return Decision(Verdict.ROUND) if status == OK else answered(status)

    def signature_status(self, request: FenceRequest, receiver: Receiver) -> int:
        """Return the HTTP status (200, 400, 403 or 503) for the signature of the request."""
        return signature_status(request.signature, BODY, receiver.key)

    def pass_on(self, request: FenceRequest, receiver: Receiver) -> Decision:
        """Forward the request to the leader, over at most two hops; otherwise answer 409."""
        if request.forward is False or receiver.leader < 0:
            return answered(CONFLICT)
        forwarded = request._replace(forward=request.forward is None)
        return Decision(Verdict.FORWARD, target=receiver.leader, request=forwarded)

    def connector_status(self, connector: str, receiver: Receiver) -> int:
        """Return 200, or 404 for a connector that does not exist, or 400 for a sink."""
        if connector not in receiver.connectors:
            return NOT_FOUND
        return OK if connector in receiver.sources else BAD_REQUEST


def trace(status: int, connector: str, cause: str = "") -> str:
    """Return the trace in the FAILED status of a task or connector after such an answer (618.11)."""
    reason = REASONS.get(status, "")
    return f"ConnectRestException: {status}: {reason}: connector {connector}{': ' + cause if cause else ''}"

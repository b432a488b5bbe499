"""This module has the brokers of one cluster, with connections and caches that everything in this process shares.

    brokers = connect("127.0.0.1:9092", timeout_s=5)     # the same object for the same servers
    brokers.ask(brokers.leader("topic", 3), request)     # the answer; NoAnswer when the broker is away

Only one thread at a time may use them. A connection that failed is discarded and made anew at the next request.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from fencepost.reference_impl.kafka.errors import error_text
from fencepost.reference_impl.live.tcp.connection import (
    PLAINTEXT,
    Broker,
    Connection,
    NoAnswer,
    WireError,
    ask_bootstrap,
)
from fencepost.reference_impl.live.tcp.reading import API_KEYS, Patience, build, only, reading
from fencepost.reference_impl.live.tcp.security import Security
from fencepost.reference_impl.live.tcp.versions import Bounds, Offered, offered_by

GROUP, TRANSACTION = 0, 1  # key types of FindCoordinator
FORBIDDEN = frozenset({29, 30, 31, 35, 42, 53})  # not authorized, unsupported, invalid: it will not become better
AWAY = 15  # COORDINATOR_NOT_AVAILABLE
NOT_NOW = frozenset({3, 5, 6, 7, 9, 13, 14, 15, 16, 56, 74, 75, 76})  # the leader is another, or not ready
WITH_TOPIC_IDS = 12  # version of Metadata, from release 3.1 on
READ_S = 10.0  # how long a leader or a coordinator may be away
READY_S = 30.0  # how long a cluster that has just started may take to name a coordinator or a leader


class Refused(WireError):
    """A `Refused` is raised for an answer with an error that asking again will not mend; ``code`` is Kafka's."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Brokers:
    """A `Brokers` has connections by broker id, and caches leaders and coordinators until `forget`."""

    def __init__(self, bootstrap: str, timeout_s: float, security: Security = PLAINTEXT) -> None:
        self.bootstrap = bootstrap
        self.timeout_s = timeout_s
        self.security = security
        self.addresses: dict[int, Broker] = {}
        self.cluster_id: str | None = None
        self.controller = -1  # not every broker says
        self._connections: dict[int, Connection] = {}
        self._leaders: dict[tuple[str, int], int] = {}
        self._coordinators: dict[tuple[int, str], int] = {}
        self._silent: set[int] = set()
        self.offers: dict[int, Offered] = {}  # of each broker that could be reached when this was made
        self.refresh()
        self.offered = self._offered()

    def ask(self, broker: int, request: Any) -> Any:
        """Return the answer of one broker. Raise NoAnswer, or WireError for an answer that is not Kafka's."""
        connection = self._connections.get(broker)
        if connection is None:
            connection = self._connections[broker] = self.connection(broker)
        try:
            return connection.call(request)
        except WireError:
            self._connections.pop(broker, None)
            raise

    def ask_any(self, request: Any) -> Any:
        """Return the answer of the first broker that gives one; brokers that gave none are asked last from now on."""
        failures = []
        for broker in sorted(self.addresses, key=self._silent.__contains__):
            try:
                answer = self.ask(broker, request)
            except NoAnswer as error:
                failures.append(str(error))
                self._silent.add(broker)
            else:
                self._silent.discard(broker)
                return answer
        raise NoAnswer("no broker answered: " + "; ".join(failures))

    def refresh(self, topic: str | None = None, create: bool = False) -> Mapping[int, int]:
        """Ask for the brokers, and return a topic's leaders by partition; -1 means no leader."""
        return self.topics(() if topic is None else (topic,), create).get(topic or "", (0, {}))[1]

    def topics(self, names: Collection[str] | None, create: bool = False) -> dict[str, tuple[int, dict[int, int]]]:
        """Ask for the brokers, and return the error and the leaders by partition (-1: none) of these topics, or for
        None of all that may be described."""
        version = 8
        named = tuple(build("metadata", version, "MetadataRequestTopic", name=name) for name in names or ())
        request = build(
            "metadata", version, topics=None if names is None else named, allow_auto_topic_creation=create,
            include_cluster_authorized_operations=False, include_topic_authorized_operations=False,
        )  # fmt: skip
        if self.addresses:
            answer = self.ask_any(request)
        else:
            answer = ask_bootstrap(self.bootstrap, request, self.timeout_s, self.security)
        with reading(request, answer):
            addresses = {int(b.node_id): Broker(int(b.node_id), b.host, int(b.port)) for b in answer.brokers}
            if not addresses and not self.addresses:
                raise ValueError("it names no brokers")
            found = {}
            for each in answer.topics if names is None else (each for each in answer.topics if each.name in names):
                leaders = {int(part.partition_index): int(part.leader_id) for part in each.partitions}
                found[str(each.name)] = int(each.error_code), leaders
        self.cluster_id, self.controller = answer.cluster_id, int(answer.controller_id)
        self.addresses = addresses or self.addresses
        for name, (_, leaders) in found.items():
            self._leaders |= {(name, number): leader for number, leader in leaders.items() if leader >= 0}
        return found

    def topic_ids(self, names: Collection[str]) -> dict[str, str]:
        """Return the ids of these topics, as far as brokers name them (Metadata from version 10 on)."""
        theirs = self.offered.bounds.get(API_KEYS["metadata"])
        if theirs is None or theirs.most < WITH_TOPIC_IDS or not names:
            return {}
        named = tuple(
            build("metadata", WITH_TOPIC_IDS, "MetadataRequestTopic", name=name, topic_id=None)
            for name in sorted(names)
        )
        request = build(
            "metadata", WITH_TOPIC_IDS, topics=named, allow_auto_topic_creation=False,
            include_topic_authorized_operations=False,
        )  # fmt: skip
        answer = self.ask_any(request)
        with reading(request, answer):
            return {str(each.name): str(each.topic_id) for each in answer.topics if not each.error_code}

    def leader(self, topic: str, partition: int) -> int:
        """Raise NoAnswer if there is none now, and Refused if the topic may not be described."""
        known = self._leaders.get((topic, partition))
        if known is None:
            error, leaders = self.topics((topic,)).get(topic, (0, {}))
            if error in FORBIDDEN:
                raise Refused(f"{self.bootstrap}: topic {topic} is not described: {error_text(error)}", error)
            known = leaders.get(partition, -1)
            if known < 0:
                raise NoAnswer(f"{self.bootstrap}: partition {topic}-{partition} has no leader")
        return known

    def coordinator(self, kind: int, key: str) -> int:
        """Return the coordinator of a group or a transactional id. Raise NoAnswer if there is none within `READY_S`."""
        known = self._coordinators.get((kind, key))
        if known is not None:
            return known
        version = self.offered.version("find_coordinator")
        request = build("find_coordinator", version or 3, key=key, key_type=kind)
        why = ""
        for tried in Patience(READY_S):
            asked = self._in_turn(tried)
            try:
                answer = self.ask(asked, request)
            except NoAnswer as failed:
                why = str(failed)
                self._silent.add(asked)
                continue
            with reading(request, answer):
                error, broker = int(answer.error_code), int(answer.node_id)
            if error in FORBIDDEN:
                raise Refused(f"{self.bootstrap}: no coordinator of {key!r} is named: {error_text(error)}", error)
            if not error and broker not in self.addresses:
                self.refresh()
            if not error and broker in self.addresses:
                self._coordinators[kind, key] = broker
                return broker
            why = error_text(error) if error else f"broker {broker} is named, which is not in the cluster"
        raise NoAnswer(f"{self.bootstrap}: no coordinator of {key!r} within {READY_S:.0f} s: {why}")

    def transaction(self, transactional_id: str) -> tuple[int, str]:
        """Return the error and Kafka's name of the state of a transactional id. The state is empty where there is an
        error, and where brokers do not know DescribeTransactions; the error is `AWAY` if no broker answers now."""
        version = self.offered.version("describe_transactions")
        if version is None:
            return 0, ""
        request = build("describe_transactions", version, transactional_ids=(transactional_id,))
        try:
            answer = self.ask(self.coordinator(TRANSACTION, transactional_id), request)
        except NoAnswer:
            self.forget()
            return AWAY, ""
        with reading(request, answer):
            found = only(answer.transaction_states, "transactional ids")
            error = int(found.error_code)
            return error, "" if error else str(found.transaction_state)

    def ask_until(
        self, what: str, broker: Callable[[], int], request: Any, part: Callable[[Any], Any],
        also: Collection[int] = (), ask: Callable[[int, Any], Any] | None = None, patience_s: float = READ_S,
    ) -> tuple[int, Any]:  # fmt: skip
        """Return the error, 0 or one of `also`, and what `part` takes from the answer, which has the error where the
        whole answer has none. The request is repeated while another broker is responsible, or the same one is not
        ready. Raise `Refused` for another error, WireError if this takes too long."""
        for _ in Patience(patience_s):
            try:
                answer = (ask or self.ask)(broker(), request)
            except NoAnswer as error:
                last: object = error
            else:
                with reading(request, answer):
                    code = int(getattr(answer, "error_code", 0))
                    found: Any = None if code else part(answer)
                    code = code or int(found.error_code)
                if not code or code in also:
                    return code, found
                last = error_text(code)
                if code not in NOT_NOW:
                    raise Refused(f"{self.bootstrap}: {what}: {last}", code)
            self.forget()
        raise WireError(f"{self.bootstrap}: {what}: {last}")

    def ask_controller(self, request: Any, moved: Callable[[Any], bool], patience_s: float | None = None) -> Any:
        """Return the answer of the controller or, where brokers do not report which one it is, of any broker that does
        not answer that the controller is another one, which `moved` checks. Raise NoAnswer if there is none in time
        (`READY_S`)."""
        why, patience_s = "", READY_S if patience_s is None else patience_s
        for tried in Patience(patience_s):
            asked = self.controller if self.controller in self.addresses and not tried % 2 else self._in_turn(tried)
            try:
                answer = self.ask(asked, request)
                with reading(request, answer):
                    if not moved(answer):
                        return answer
                why = f"broker {asked} is not the controller"
                self.refresh()
            except NoAnswer as failed:
                why = str(failed)
                self._silent.add(asked)
        raise NoAnswer(f"{self.bootstrap}: no controller within {patience_s:.0f} s: {why}")

    def _in_turn(self, tried: int) -> int:
        brokers = sorted(self.addresses, key=self._silent.__contains__)
        return brokers[tried % len(brokers)]

    def is_same(self) -> bool:
        known = self.cluster_id
        try:
            self.refresh()
        except WireError:
            return False
        return self.cluster_id == known

    def forget(self) -> None:
        """Forget leaders and coordinators, which may have moved."""
        self._leaders.clear()
        self._coordinators.clear()

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        self.forget()

    def connection(self, broker: int, timeout_s: float | None = None) -> Connection:
        """Return a new connection to a broker, for requests that wait, or that are sent ahead. Raise WireError."""
        if broker not in self.addresses:
            self.refresh()
        if broker not in self.addresses:
            raise NoAnswer(f"{self.bootstrap}: broker {broker} is not in the cluster; known are {list(self.addresses)}")
        _, host, port = self.addresses[broker]
        return Connection(host, port, timeout_s or self.timeout_s, security=self.security)

    def _offered(self) -> Offered:
        """Return the versions and features that all reachable brokers have in common."""
        failures = []
        for broker in self.addresses:
            try:
                self._connections[broker] = connection = self.connection(broker)
                self.offers[broker] = offered_by(connection, broker)
            except NoAnswer as error:
                failures.append(str(error))
                self._connections.pop(broker, None)
        if not self.offers:
            raise NoAnswer(f"{self.bootstrap}: none of its brokers can be reached: {'; '.join(failures)}")
        first, *others = self.offers.values()
        bounds = dict(first.bounds)
        for other in others:
            bounds = {
                key: Bounds(max(mine.least, other.bounds[key].least), min(mine.most, other.bounds[key].most))
                for key, mine in bounds.items()
                if key in other.bounds
            }
        return Offered(first.address, bounds, first.features, first.verifies)


_CONNECTED: dict[tuple[str, Security], Brokers] = {}


def connect(bootstrap: str, timeout_s: float, security: Security = PLAINTEXT) -> Brokers:
    """Return the brokers behind these servers. They are the same object as before unless the brokers were away
    meanwhile, because another cluster may be there by now.

    Raise ValueError for a malformed list, WireError if no broker answers.
    """
    brokers = _CONNECTED.get((bootstrap, security))
    if brokers is None or not brokers.is_same():
        if brokers is not None:
            brokers.close()
            del _CONNECTED[bootstrap, security]
        brokers = _CONNECTED[bootstrap, security] = Brokers(bootstrap, timeout_s, security)
    brokers.timeout_s = timeout_s
    return brokers

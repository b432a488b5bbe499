"""This module writes server.properties, from the cluster's shape and the settings of its user."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

# Two listeners besides the controller's: clients may be sent through a proxy while brokers talk to one another
# directly, or the other way round.  Short time-outs: a fail-over takes two seconds, and no rebalance waits.  One
# partition for each internal topic: quick to make, and one coordinator for all.
ALWAYS = {
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "INTERNAL",
    "listener.security.protocol.map": "CLIENTS:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "auto.create.topics.enable": "false",
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "controller.quorum.election.timeout.ms": "800",
    "controller.quorum.fetch.timeout.ms": "1500",
    "controller.socket.timeout.ms": "2000",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
    "num.network.threads": "2",
    "num.io.threads": "2",
    "background.threads": "2",
    "log.cleaner.enable": "false",
}

# Members of a group that are not heard of for a second and a half are removed, or earlier where their clients ask for
# that.
SHORT_SESSIONS = {
    "group.min.session.timeout.ms": 250,
    "group.consumer.session.timeout.ms": 1500,
    "group.consumer.min.session.timeout.ms": 1000,
    "group.consumer.heartbeat.interval.ms": 300,
    "group.consumer.min.heartbeat.interval.ms": 200,
}


class Addresses(NamedTuple):
    """Where a node listens, each as `host:port` (no `controller`: it is a broker only); and what clients, brokers and,
    unless that is empty, those that look for the controller get, if a proxy is between."""

    clients: str
    internal: str
    controller: str
    advertised: str
    advertised_internal: str
    advertised_controller: str = ""


def server_properties(
    node: int, data: Path, size: int, voters: str, addresses: Addresses, settings: Mapping[str, object]
) -> str:
    """The text of node `node`'s file; `settings` win over everything here."""
    replicas = {
        "offsets.topic.replication.factor": size,
        "transaction.state.log.replication.factor": size,
        "transaction.state.log.min.isr": min(2, size),
        "default.replication.factor": size,
        "min.insync.replicas": min(2, size),
    }
    own = {
        "node.id": node,
        "log.dirs": data,
        "controller.quorum.voters": voters,
        "listeners": f"CLIENTS://{addresses.clients},INTERNAL://{addresses.internal}",
        "advertised.listeners": f"CLIENTS://{addresses.advertised},INTERNAL://{addresses.advertised_internal}",
    }
    if addresses.controller:
        own["listeners"] = f"{own['listeners']},CONTROLLER://{addresses.controller}"
    else:
        own["process.roles"] = "broker"
    if addresses.controller and addresses.advertised_controller:
        own["advertised.listeners"] = f"{own['advertised.listeners']},CONTROLLER://{addresses.advertised_controller}"
    everything: dict[str, object] = {**ALWAYS, **replicas, **own, **settings}
    return properties(everything)


def properties(values: Mapping[str, object]) -> str:
    """Return the text of a properties file."""
    return "".join(f"{name}={_text(value)}\n" for name, value in values.items())


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

"""Calls at random on the lock, and audits at random, told in the words of both."""

from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any

from tests.audited import events as audit
from tests.lock import events as lock
from tests.lock.reference import Locks, Unfenced

Rows = list[tuple[int, ...]]


class Audited:
    """One lock, its clients, and the auditor."""

    def __call__(self, seed: int, config: Mapping[str, Any]) -> tuple[dict[str, Rows], dict[str, int]]:
        chance, faults = Random(seed), Counter[str]()
        locks: Any = (Unfenced if config.get("broken") else Locks)(config)
        rows: dict[str, Rows] = {"audited": [], "lock": []}
        for time in range(0, config["events"] * 1000, 1000):
            client = chance.randrange(config["clients"])
            match chance.choice(("acquire", "expire", "write", "write", "audit")):
                case "expire":
                    faults["expired"] += locks.expire() is True
                case "audit":
                    rows["audited"].append((len(rows["audited"]), time, int(audit.Kind.read), locks.stored))
                case call:
                    getattr(locks, call)(client)
            for event in locks.drain_events():
                about = (event.get("client", -1), event.get("token", -1))
                rows["lock"].append((len(rows["lock"]), time, int(lock.Kind[event["kind"]]), *about))
        return {name: of for name, of in rows.items() if config.get("silent") != name}, dict(faults)

    def vocabularies(self, config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """What is said of the histories in each."""
        reported = {"lock": {"variant": "fenced", "config": {"clients": config["clients"]}}, "audited": {}}
        return {**reported, **config.get("said", {})}


simulate = Audited()


def unsaid(seed: int, config: Mapping[str, Any]) -> tuple[dict[str, Rows], dict[str, int]]:
    """The same, with no word about the vocabularies."""
    return simulate(seed, config)

"""These brokers act by themselves, for the tests of agreement over the wire: the prompt reference, and some that are
wrong only at times, or disappear."""

from collections.abc import Mapping
from typing import Any

from fencepost.reference_impl.defects.transactions import REGISTRY
from fencepost.reference_impl.live.tcp.connection import WireError
from prompt import Prompt, prompt


def broken(name: str) -> Any:
    """Return a factory of prompt clusters with one defect."""

    def factory(config: Mapping[str, Any]) -> Prompt:
        return prompt(config, factory=REGISTRY[name])

    return factory


class Forgetful:
    """This cluster leaves out the first of several records that a reader gets at once."""

    def __init__(self, system: Prompt, forgets: bool) -> None:
        self.system, self.forgets = system, forgets

    def __getattr__(self, name: str) -> Any:
        return getattr(self.system, name)

    def read(self, reader: int, partition: int, committed: bool = True) -> list[tuple[int, int]]:
        records = self.system.read(reader, partition, committed)
        return records[1:] or records if self.forgets else records


class NowAndThen:
    """This factory makes clusters of which those with certain numbers are wrong."""

    def __init__(self, wrong: Any) -> None:
        self.wrong, self.made = wrong, 0

    def __call__(self, config: Mapping[str, Any]) -> Forgetful:
        self.made += 1
        return Forgetful(prompt(config), self.wrong(self.made))


class Leaving:
    """This factory makes clusters whose broker disappears after a number of deliveries."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, config: Mapping[str, Any]) -> "Gone":
        if self.left <= 0:
            raise WireError("127.0.0.1:9092: cannot connect: Connection refused; is the broker running?")
        return Gone(prompt(config), self)


class Gone:
    """A `Gone` is a cluster of `Leaving`."""

    def __init__(self, system: Prompt, broker: Leaving) -> None:
        self.system, self.broker = system, broker

    def __getattr__(self, name: str) -> Any:
        return getattr(self.system, name)

    def deliver(self, number: int, keep: bool = False) -> None:
        self.broker.left -= 1
        if self.broker.left <= 0:
            raise WireError("127.0.0.1:9092 closed the connection")
        self.system.deliver(number, keep)


def within(config: Mapping[str, Any]) -> Prompt:
    """Return a cluster that finishes the abort of an open transaction before it answers InitProducerId with 0 and not
    51, which breaks no promise."""
    system = prompt(config)
    system.collapse = True
    return system


def within_and_forgetful(config: Mapping[str, Any]) -> Forgetful:
    """Return a cluster like `within`, whose readers do not get the first of several records."""
    return Forgetful(within(config), True)

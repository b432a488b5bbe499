"""This module makes random calls through an annotated interface, for a protocol that has no driver of its own.

`simulate` makes a history of an implementation, `tour` makes an implementation emit what it can, and `go_on` continues
a run in which a program disagreed (see `fencepost.properties.conformance_spec.Agreeing`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from random import Random
from typing import Any, get_args, get_origin

from fencepost.properties.calls import Call
from fencepost.properties.driving import Run, make, read, waiting
from fencepost.properties.history.vocabulary import HistoryError, Vocabulary
from fencepost.properties.machine import every_step
from fencepost.properties.roles import Between, FromConfig, Index, InFlight, OneOf, role_of

EVENTS = 40
"""A simulated history has this many events where its config does not give a number."""
IDLE = 20
"""At most this many calls are made for each event; an implementation that emits less has shorter histories."""
TOUR, ROUNDS, FURTHER = 200, 3, 20
"""A tour has TOUR calls, and after a disagreement FURTHER calls are made in each of ROUNDS rounds."""


def at_random(call_type: type[Call], system: Any, config: Mapping[str, Any], seed: int) -> Iterator[Call]:
    """Yield calls on a system without end, each drawn on request: of a method that the system has, with arguments as
    their annotations describe. Stop where there is nothing to call."""
    chance = Random(seed)
    while True:
        names = [name for name in every_step(call_type) if callable(getattr(system, name, None))]
        names += [helper.__name__ for helper in call_type.helpers]
        messages = waiting(system)
        if not messages:
            names = [name for name in names if _about(call_type, name) is None]
        if not names:
            return
        name = chance.choice(names)
        about, (_, hints, roles, _) = _about(call_type, name), call_type.method(name)
        asked = [key for key in hints if key != about and not isinstance(roles[key], FromConfig)]
        drawn = {key: _drawn(hints[key], config, chance) for key in asked}
        if about is None:
            yield call_type.within(config, name, **drawn)
        else:
            yield call_type.about(name, chance.choice(messages), messages, **drawn)


def _about(call_type: type[Call], name: str) -> str | None:
    roles = call_type.method(name).roles.items()
    return next((key for key, role in roles if isinstance(role, InFlight)), None)


def _drawn(annotation: Any, config: Mapping[str, Any], chance: Random) -> Any:
    """Return a random value of the kind that `fencepost.properties.machine.strategy` draws, which refuses annotations
    without values."""
    match role_of(annotation):
        case Index() as role:
            return chance.randrange(sum(int(config[size]) for size in (role.size, *role.additional)))
        case OneOf() as role:
            return chance.choice(role.values)
        case Between() as role:
            number = chance.randint(role.least, role.most)
            each = get_args(get_args(annotation)[0])
            return [_drawn(each[0], config, chance) for _ in range(number)] if each else number
    if get_origin(annotation) is tuple:
        return tuple(_drawn(each, config, chance) for each in get_args(annotation))
    return chance.random() < 0.5


def simulate(
    call_type: type[Call], vocabulary: Vocabulary, factory: Callable[[Mapping[str, Any]], Any], seed: int,
    config: Mapping[str, Any],
) -> list[tuple[int, ...]]:  # fmt: skip
    """Return a history of an implementation as rows in the order of the columns: its first events, as many as the
    config has in ``events``. A call takes a millisecond."""
    events = int(config.get("events", EVENTS))
    system = factory({**config, "seed": seed})
    rows: list[tuple[int, ...]] = []
    calls = islice(at_random(call_type, system, config, seed), events * IDLE)
    for row in rows_of(vocabulary, system, calls):
        rows.append(row)
        if len(rows) == events:
            break
    return rows


def rows_of(vocabulary: Vocabulary, system: Any, calls: Iterable[Call]) -> Iterator[tuple[int, ...]]:
    """Yield the events of a system under these calls as rows in the order of the columns. A call takes a
    millisecond."""
    step = 0
    for number, call in enumerate(calls):
        made = make(system, call)
        if made is not None and made.error is not None:
            raise made.error
        for event in made.events if made else ():
            kind = vocabulary.codes.get(read(event, "kind"))
            if kind is None:
                known = ", ".join(vocabulary.codes)
                raise HistoryError(
                    f"{call.name} shows an event {read(event, 'kind')!r}; {vocabulary.protocol} has {known}"
                )
            values = (int(read(event, column.name, column.absent)) for column in vocabulary.columns)
            yield (step, number * 1000, int(kind), *values)
            step += 1


def tour(call_type: type[Call], factory: Callable[[Mapping[str, Any]], Any], config: Mapping[str, Any]) -> list[Call]:
    """Return random calls that make a correct implementation emit the events that it can."""
    system = factory(config)
    found = []
    for call in at_random(call_type, system, config, 0):
        found.append(call)
        made = make(system, call)
        if len(found) == TOUR or (made is not None and made.error is not None):
            break
    return found


def go_on(call_type: type[Call], run: Run) -> Iterator[None]:
    """Make further calls on a run, and yield now and then so that the caller can check it."""
    drawn = at_random(call_type, run.system, run.config, 0)
    for _ in range(ROUNDS):
        for _, call in zip(range(FURTHER), drawn, strict=False):
            run.call(call)
        yield

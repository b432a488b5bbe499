"""What the language refuses: each mistake in ``data/mistakes`` is refused at its line, and told what to write instead.

A mistake begins with ``# surroundings: name``, goes on with the text that is put in these surroundings, and ends with
the expected message in lines with ``#>``.  The line that the message must name carries the comment ``# <-``.
"""

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fencepost.model.language import ModelError

FILES = sorted((Path(__file__).parent / "data" / "mistakes").glob("*.txt"))
MODULE = '''\
import operator

from fencepost.model.language import *


class Broker(Sort, bound="brokers"):
    """A broker."""


class Request(Sort, bound="requests"):
    """A request."""


class Id(Nat, upto="ids"):
    """An id."""


class Stage(Enumeration):
    FREE, SENT = range(2)


'''
PROTOCOL = f"""\
{MODULE}class Example(Protocol):
    size: Constant[Nat]
    on: Bool
    off: Bool
    level: Id
    debt: Int
    stage: Stage
    leader: Option[Broker]
    held: Set[Broker]
    cursor: Map[Broker, Id]
    seen: Map[Broker, Request, Bool]
    log: Seq[Id, "length"]
    told: Ghost[Bool]

    def free(s):
        return s.stage == Stage.FREE

    def clear(s, b):
        s.cursor[b] = 0

"""
ACTION = f"""\
{PROTOCOL}    @action
    def go(s, b: Broker, r: Request):
"""
VARIANT = f"""\
{PROTOCOL}    @action
    def stop(s):
        s.on = False


"""
CORE = f"""\
{VARIANT}class Core(Protocol):
    size: Constant[Nat]
    level: Id
    on: Bool
    held: Set[Broker]
    log: Seq[Id, "length"]
    secret: Bool
    count: Nat
    noted: Ghost[Bool]

    @action
    def raise_it(s, b: Broker):
        require(s.secret)
        s.level = s.count
        s.noted = s.on


class ExampleProperties(Properties, of=Example):
"""
LOCK = f'''\
{MODULE}class Lock(Protocol):
    size: Constant[Nat]
    holder: Option[Broker]
    level: Id
    rounds: Map[Broker, Id]
    log: Seq[Id, "length"]
    told: Ghost[Bool]

    def is_free(s):
        return s.holder == None

    def clear(s, b):
        s.rounds[b] = 0

    @action
    def take(s, b: Broker):
        require(s.is_free())
        s.holder = b

    @action
    def give(s, b: Broker, i: Id):
        require(s.holder == b)
        s.holder = None
        s.rounds[b] = i

    @fault(budget="losses")
    def lose(s):
        s.holder = None


class LockProperties(Properties, of=Lock):
    @lemma
    def some_level(s):
        """There is a level."""
        return 0 <= s.level


class Other(Protocol):
    on: Bool


class Whole(Protocol):
'''
WHOLE = f"{LOCK}    lock: Part[Lock]\n    on: Bool\n    seen: Ghost[Bool]\n\n"
SURROUNDINGS = {
    "module": (f"{MODULE}___", "LIMIT = 1"),
    "protocol": (f"{PROTOCOL}    ___", "count: Nat"),
    "action": (f"{ACTION}        ___", "s.level = 1"),
    "guard": (f"{ACTION}        require(___)  # <-", "s.on"),
    "variant": (f"{VARIANT}___", "LIMIT = 1"),
    "properties": (
        f'''\
{PROTOCOL}
class ExampleProperties(Properties, of=Example):
    @promise(rule="730.P1")
    def quiet(s):
        """Nothing was told."""
        return ~s.told

    @witness(of="quiet")
    def busy(s):
        """It is on."""
        return s.on

    ___''',
        "limit = 1",
    ),
    "refinement": (f"{CORE}    ___", "limit = 1"),
    "mapping": (
        f'{CORE}    @refinement(of=Core)  # <-\n    def core(s):\n        """The core."""\n        return ___',
        "dict(GIVEN)",
    ),
    "part": (f"{LOCK}    lock: ___", "Part[Lock]"),
    "whole": (f"{WHOLE}    ___", "count: Nat"),
    "joint": (f"{WHOLE}    @action\n    def go(s, b: Broker, i: Id):\n        ___", "s.lock.take(b)"),
    "after": (f"{WHOLE}\n___", "LIMIT = 1"),
    "stated": (f"{WHOLE}\nclass WholeProperties(Properties, of=Whole):\n    ___", "lock: Part[LockProperties]"),
}
"""Texts with a place for another, and one without a mistake that fits in there."""
GIVEN = "secret=s.on, count=s.level, noted=s.told"


def mistakes() -> Iterator[Any]:
    """The surroundings of each mistake, its text, and the message without the place in front."""
    for path in FILES:
        for section in re.split(r"^# (?=[a-z]+: )", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            head, *lines = section.rstrip().splitlines()
            surroundings, name = head.split(": ", maxsplit=1)
            body = [line for line in lines if not line.startswith("#> ")]
            expected = " ".join(line.removeprefix("#> ") for line in lines[len(body) :])
            yield pytest.param(surroundings, "\n".join(body), expected, id=f"{path.stem}-{name}")


def module(surroundings: str, text: str) -> str:
    """The text in its surroundings, as far to the right as its place is."""
    before, after = SURROUNDINGS[surroundings][0].split("___")
    margin = before.rpartition("\n")[2]
    return before + text.replace("GIVEN", GIVEN).replace("\n", f"\n{margin}") + after + "\n"


def load(path: Path) -> None:
    found = importlib.util.spec_from_file_location("mistaken", path)
    assert found is not None and found.loader is not None
    loaded = importlib.util.module_from_spec(found)
    sys.modules[loaded.__name__] = loaded
    try:
        found.loader.exec_module(loaded)
    finally:
        del sys.modules[loaded.__name__]


@pytest.mark.parametrize(("surroundings", "text", "expected"), list(mistakes()))
def test_a_mistake_is_refused_where_it_stands(tmp_path: Path, surroundings: str, text: str, expected: str) -> None:
    """With its line, what is wrong, and what to write instead."""
    path = tmp_path / "mistaken.py"
    path.write_text(module(surroundings, text), encoding="utf-8")
    (marked,) = (n for n, line in enumerate(path.read_text().splitlines(), 1) if line.endswith("# <-"))
    with pytest.raises(ModelError) as caught:
        load(path)
    assert str(caught.value) == f"{path}:{marked}: {expected}"


@pytest.mark.parametrize("surroundings", SURROUNDINGS)
def test_surroundings_have_no_mistake(tmp_path: Path, surroundings: str) -> None:
    path = tmp_path / "right.py"
    path.write_text(module(surroundings, SURROUNDINGS[surroundings][1]), encoding="utf-8")
    load(path)

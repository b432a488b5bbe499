"""A small protocol with one mistake in it, written to a file and imported, for the tests of what the language refuses.

The line that the message must name carries the comment ``# <-``.
"""

import importlib.util
import itertools
import sys
import textwrap
from pathlib import Path

import pytest
from fencepost.model.language import ModelError

HEADER = '''\
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


def is_free(stage):
    return stage == Stage.FREE


def known(value):
    return value is None


'''

PROTOCOL = """\
class Example(Protocol):
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

_numbers = itertools.count()


def message(folder: Path, text: str) -> str:
    """The refusal of this module, without the place in front, which is checked to be the marked line."""
    number = next(_numbers)
    path = folder / f"mistaken{number}.py"
    path.write_text(text)
    marked = [i for i, line in enumerate(text.splitlines(), 1) if line.endswith("# <-")]
    found = importlib.util.spec_from_file_location("mistaken", path)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[module.__name__] = module
    try:
        with pytest.raises(ModelError) as caught:
            found.loader.exec_module(module)
    finally:
        del sys.modules[module.__name__]
    place, said = str(caught.value).split(": ", maxsplit=1)
    assert [place] == [f"{path}:{line}" for line in marked]
    return said


def protocol(members: str, before: str = "") -> str:
    """A module whose protocol has these members besides its own."""
    return HEADER + textwrap.dedent(before) + PROTOCOL + textwrap.indent(textwrap.dedent(members), "    ")


def variant(declaration: str) -> str:
    """A module with something declared after its protocol, which has an action `stop`."""
    return protocol("@action\ndef stop(s):\n    s.on = False\n\n") + textwrap.dedent(declaration)


def rule(body: str) -> str:
    """A module whose protocol has an action of a broker and a request with this body."""
    return protocol("@action\ndef go(s, b: Broker, r: Request):\n" + textwrap.indent(textwrap.dedent(body), "    "))


def guard(condition: str) -> str:
    """A module whose protocol has an action with this guard."""
    return rule(f"require({condition})  # <-")


def properties(members: str) -> str:
    """A module whose properties have these members, besides a promise and its witness."""
    base = '''
    class ExampleProperties(Properties, of=Example):
        @promise(rule="730.P1")
        def quiet(s):
            """Nothing was told."""
            return ~s.told

        @witness(of="quiet")
        def busy(s):
            """It is on."""
            return s.on

    '''
    return protocol("\n\n") + textwrap.dedent(base) + textwrap.indent(textwrap.dedent(members), "    ")

"""Calls derived from an annotated interface: their text, what is in flight by name, and what is simpler."""

from typing import Annotated, Any, ClassVar

import pytest
from fencepost.properties import calls
from fencepost.properties.calls import missing
from fencepost.properties.driving import Program, make
from fencepost.properties.roles import Amount, Count, FromConfig, Index, InFlight, Named, Numbered, OneOf, Simplest

Node = Annotated[int, Index("nodes")]
FIELDS = (None, Index("nodes"))
Number = Annotated[int, InFlight(FIELDS, lambda message: f"{message[1]} to node {message[2]}")]
Lost = Annotated[int, InFlight(FIELDS, lambda message: "lost", happens=False)]


TRADER = Numbered(buyer=Index("buyers"), seller=Index("sellers"))
How = Annotated[str, OneOf("ok", "lost")]
Pieces = Annotated[int, Count("pieces")]
Fair = Annotated[bool, FromConfig(lambda config: config["sellers"] == 1)]


class Plain:
    """A lock with leases: messages are (number, kind, node, something else)."""

    def messages(self) -> list[tuple[int, str, int, str]]:
        return [(4, "grant", 1, "a"), (7, "grant", 1, "b"), (9, "grant", 2, "c")]

    def deliver(self, number: Number, keep: bool = False) -> str:
        return f"{number} {keep}"

    def drop(self, number: Lost) -> None: ...
    def ask(self, node: Node, ms: int) -> tuple[int, int]:
        return node, ms


class Renewing:
    """What only some have."""

    def renew(self, node: Node = 0) -> None: ...


class Lock(Plain, Renewing):
    """A system."""

    def drain_events(self) -> list[Any]:
        return []


class Call(calls.Call):
    """A call on it."""

    interface = (Plain, Renewing)
    columns = ()
    keys: ClassVar = {"nodes": Amount(), "size": Amount(2), "share": Simplest(0.0)}
    moving = ("nodes",)


def text(call: Call) -> str | None:
    made = make(Lock(), call)
    return None if made is None else made.text


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (Call("ask", 2, 50), "system.ask(2, 50)"),
        (Call("ask", ms=50, node=2), "system.ask(2, 50)"),
        (Call("deliver", Named(("grant", 1))), "system.deliver(4)  # grant to node 1"),
        (Call("deliver", Named(("grant", 1), 1), True), "system.deliver(7, keep=True)  # grant to node 1"),
        (Call("deliver", Named(("grant", 1), 2)), None),
        (Call("drop", Named(("grant", 2))), "system.drop(9)  # lost"),
        (Call("renew"), "system.renew()"),
        (Call("renew", 1), "system.renew(node=1)"),
    ],
)
def test_a_call_is_spelled_as_its_method_is_called(call: Call, expected: str | None) -> None:
    """What must be given by position, what may be left out by name; what is in flight by its number and a remark."""
    assert text(call) == expected


def test_a_call_is_made_with_the_arguments_that_it_shows() -> None:
    """The message by its number."""
    made = make(Lock(), Call("deliver", Named(("grant", 1), 1), keep=True))
    assert made is not None
    assert (made.result, made.message) == ("7 True", (7, "grant", 1, "b"))


def test_calls_are_values() -> None:
    """However the arguments were given, and whether a default was."""
    assert Call("renew", 0) == Call("renew", node=0) == Call("renew")
    assert len({Call("ask", 1, 2), Call("ask", node=1, ms=2), Call("ask", 2, 1)}) == 2
    assert Call("deliver", Named(("grant", 1)), False) == Call("deliver", Named(("grant", 1)))


def test_what_the_interface_does_not_have_is_refused() -> None:
    """A wrong call is a mistake of who wrote it, not a call that is left out."""
    with pytest.raises(TypeError, match="missing a required argument: 'ms'"):
        Call("ask", 1)
    with pytest.raises(AttributeError, match="there is no call 'fly' in Plain, Renewing"):
        Call("fly")


def test_what_is_in_flight_is_named_by_its_fields_and_its_position() -> None:
    """Not by its number, nor by what is behind the fields; each name finds what it was made of."""
    messages = Lock().messages()
    named = [Call.about("drop", message, messages) for message in messages]
    assert named == [Call("drop", Named(("grant", node), nth)) for node, nth in ((1, 0), (1, 1), (2, 0))]
    assert [dict(call.arguments)["number"].find(messages) for call in named] == messages


def test_a_table_has_what_happens_by_kind() -> None:
    """What the delivery of a message allows depends on the message; what a loss does, does not."""
    message = Named(("grant", 1))
    names = [call.table_name for call in (Call("deliver", message), Call("drop", message), Call("renew"))]
    assert names == ["deliver grant", "drop", "renew"]


def test_an_index_is_found_wherever_it_stands() -> None:
    """In a parameter, or among the fields of what the call names."""
    found = (Call("ask", 2, 5), Call("drop", Named(("grant", 1))), Call("renew"))
    assert [call.index("nodes") for call in found] == [2, 1, -1]
    assert Call("ask", 2, 5).moved("nodes", 2, 0) == Call("ask", 0, 5)
    assert Call("drop", Named(("grant", 2), 3)).moved("nodes", 2, 1) == Call("drop", Named(("grant", 1), 3))
    assert Call("ask", 2, 5).moved("nodes", 1, 0) == Call("ask", 2, 5)


def test_a_system_is_smaller_as_far_as_its_calls_allow() -> None:
    """One key at a time; what calls name stays; a key with a simplest value has that."""
    program = Program({"nodes": 4, "size": 3, "share": 0.5}, (Call("ask", 1, 5),))
    found = [p.config for p in Call.smaller(program)]
    assert found == [
        program.config | each for each in ({"nodes": 2}, {"nodes": 3}, {"size": 2}, {"share": 0.0})
    ]  # fmt: skip
    assert list(Call.smaller(Program({"nodes": 2, "size": 2, "share": 0.0}, program.calls))) == []


def test_a_program_is_simpler_in_one_argument_or_on_the_node_before() -> None:
    """What need not be given is left out, an index is one less, numbers in flight stay; nodes move down if there is
    room."""
    kept = Call("deliver", Named(("grant", 2)), keep=True)
    program = Program({}, (kept, Call("ask", 2, 5)))
    assert [p.calls for p in Call.simpler(program)] == [
        (kept.but(keep=False), Call("ask", 2, 5)),
        (kept, Call("ask", 1, 5)),
        (kept.moved("nodes", 2, 1), Call("ask", 1, 5)),
    ]
    crowded = Program({}, (Call("ask", 1, 5), Call("ask", 0, 5)))
    assert [p.calls[0] for p in Call.simpler(crowded)] == [Call("ask", 0, 5)]


class Shop:
    """Buyers and sellers, numbered one behind the other, who send (number, kind, from, to)."""

    def messages(self) -> list[tuple[int, str, str, str]]:
        return [(3, "offer", "seller-0", "buyer-1")]

    def deliver(self, number: Annotated[int, InFlight((None, TRADER, TRADER), lambda _: "")], how: How = "ok") -> None:
        """It arrives, or gets lost."""

    def buy(self, trader: Annotated[int, Index("buyers", additional=("sellers",))], pieces: Pieces) -> None: ...
    def drain_events(self) -> list[Any]:
        return []


def close(system: Any, buyers: Annotated[int, FromConfig("buyers")], fair: Fair = False) -> int:
    """Everybody goes home."""
    return buyers


def wait(system: Any, ms: Annotated[int, OneOf(1, 10)] = 1, how: How = "ok") -> str:
    """No client does anything."""
    return f"{ms} {how}"


class ShopCall(calls.Call):
    """A call on it."""

    interface, helpers, columns = (Shop,), (close, wait), ()
    keys: ClassVar = {"buyers": Amount(unless=("sellers",)), "sellers": Amount(0), "pieces": Amount()}
    merged = ("buyers",)
    dangerous: ClassVar = {"deliver": ("duplicate",), "deliver lost": ("loss",), "deliver *fer": ("late-copy",)}


SHOP = {"buyers": 2, "sellers": 1, "pieces": 4}


def test_a_helper_is_called_with_the_system_first() -> None:
    """And imported by who pastes the program; a word that may be left out stands by position."""
    made = make(Shop(), ShopCall.within(SHOP, "close"))
    assert made is not None
    assert (made.text, made.result, made.needs) == ("close(system, 2, fair=True)", 2, f"{__name__}:close")
    waited = [make(Shop(), ShopCall("wait", **given)) for given in ({"how": "lost"}, {"how": "lost", "ms": 10})]
    assert [made and (made.text, made.result) for made in waited] == [
        ("wait(system, how='lost')", "1 lost"), ("wait(system, ms=10, how='lost')", "10 lost"),
    ]  # fmt: skip
    lost = make(Shop(), ShopCall("deliver", Named(("offer", "seller-0", "buyer-1")), "lost"))
    assert lost is not None and lost.text.startswith("system.deliver(3, 'lost')")


def test_what_the_configuration_says_follows_it() -> None:
    """A smaller system has fewer buyers to send home; and sellers are numbered behind them, so that there are fewer
    buyers only where there is no seller."""
    program = Program(SHOP, (ShopCall.within(SHOP, "close"), ShopCall("buy", 0, 2)))
    found = list(ShopCall.smaller(program))
    assert [p.config for p in found] == [SHOP | {"sellers": 0}, SHOP | {"pieces": 2}, SHOP | {"pieces": 3}]
    alone = next(ShopCall.smaller(found[0]))
    assert (alone.config["buyers"], alone.calls[0]) == (1, ShopCall("close", 1))
    assert [p.calls[1:] for p in ShopCall.simpler(program)] == [(ShopCall("buy", 0, 1),)]


def test_words_with_numbers_are_about_what_they_count() -> None:
    """Also where one stands behind the other; those that are moved onto the one before may meet what is done to it."""
    offered = ShopCall("deliver", Named(("offer", "seller-0", "buyer-1")))
    assert (offered.index("sellers", SHOP), offered.index("buyers", SHOP)) == (0, 1)
    assert ShopCall("buy", 2, 1).index("sellers", SHOP) == 0 and ShopCall("buy", 2, 1).index("buyers", SHOP) == -1
    program = Program(SHOP, (offered, ShopCall("buy", 0, 1)))
    moved = ShopCall("deliver", Named(("offer", "seller-0", "buyer-0")))
    assert [p.calls[0] for p in ShopCall.simpler(program) if p.calls[1] == program.calls[1]] == [moved]


def test_calls_are_dangerous_by_name_argument_word_or_kind() -> None:
    """Each danger once."""
    offered = Named(("offer", "seller-0", "buyer-1"))
    assert ShopCall("deliver", offered, "lost").dangers == ("duplicate", "loss", "late-copy")
    assert ShopCall("deliver", Named(("answer", "seller-0", "buyer-1"))).dangers == ("duplicate",)
    assert ShopCall("buy", 0, 1).dangers == ()


def test_what_an_implementation_lacks_is_named() -> None:
    """In the order of the interface."""
    assert missing(Plain(), (Plain, Renewing)) == ["renew"]
    assert missing(object(), (Plain,)) == ["messages", "deliver", "drop", "ask"]

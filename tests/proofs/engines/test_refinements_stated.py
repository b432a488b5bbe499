"""A refinement may state which step of its core an action is, with which parameters: that helps to prove it, and proves
nothing that is not so."""

import pytest
from fencepost.model.language import (
    Map,
    ModelError,
    Nat,
    Part,
    Properties,
    Protocol,
    Sort,
    action,
    refinement,
    require,
    with_parameters,
)
from fencepost.model.language.derived.refinements import Refinement
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.engines.obligations import Obligation


class Desk(Sort, bound="desks"):
    """A desk."""


class Drawers(Protocol):
    """The core has drawers, into which someone puts any number of coins at once."""

    coins: Map[Desk, Nat]

    @action
    def put(s, d: Desk, n: Nat):
        """Some coins are put into a drawer."""
        s.coins[d] = s.coins[d] + n


class Tills(Protocol):
    """The larger protocol puts what was counted before."""

    coins: Map[Desk, Nat]
    counted: Map[Desk, Nat]
    emptied: Map[Desk, Nat]

    @action
    def count(s, d: Desk):
        """A coin is counted."""
        s.counted[d] = s.counted[d] + 1

    @action
    def close(s, d: Desk):
        """What was counted is put into the drawer."""
        s.coins[d] = s.coins[d] + s.counted[d]
        s.counted[d] = 0


class Thefts(Tills, Protocol):
    """A coin may vanish."""

    @action
    def steal(s, d: Desk):
        """A coin vanishes from a drawer."""
        require(0 < s.coins[d])
        s.coins[d] = s.coins[d] - 1


RIGHT = with_parameters("put", lambda s, d: dict(d=d, n=s.counted[d]))
IN_PART = with_parameters("put", lambda s, d: dict(d=d))
WRONG = with_parameters("put", lambda s, d: dict(d=d, n=s.counted[d] + 1))
OF_NO_COIN = with_parameters("put", lambda s, d: dict(d=d, n=s.coins[d]))


def of(protocol: type[Protocol], stated: object, **more: object) -> type[Properties]:
    class Stated(Properties, of=protocol):
        """It refines the core."""

        @refinement(of=Drawers, actions={"close": stated, "count": (), **more})
        def puts(s):
            """Its drawers are the core's."""
            return {}

    return Stated


def decided(properties: type[Properties]) -> dict[str, Obligation]:
    proof = prove(properties.protocol.spec, properties.properties)
    return {o.action: o for o in proof.obligations if o.property == "puts" and o.kind == "step"}


@pytest.mark.parametrize("stated", [RIGHT, IN_PART, (WRONG, RIGHT)], ids=["all", "some", "one-of-two"])
def test_what_is_stated_rightly_proves_the_step(stated: object) -> None:
    """Also where a parameter is left open, or another step is stated as well."""
    found = decided(of(Tills, stated))
    assert {o.verdict for o in found.values()} == {"holds"}
    assert (found["close"].how, found["count"].how) == ("stated", "solver")


def test_what_is_stated_wrongly_proves_nothing() -> None:
    """The property itself is asked then, and is proved without it."""
    found = decided(of(Tills, WRONG))
    assert (found["close"].verdict, found["close"].how) == ("holds", "solver")


@pytest.mark.parametrize("stated", [RIGHT, WRONG, OF_NO_COIN, "put"])
def test_a_step_that_is_none_of_the_core_is_not_proved_by_any_statement(stated: object) -> None:
    """A coin that vanishes is none that is put."""
    theft = with_parameters("put", lambda s, d: dict(d=d, n=0 if isinstance(stated, str) else s.coins[d]))
    found = decided(of(Thefts, stated, steal=(theft,)))
    assert (found["steal"].verdict, found["steal"].how) == ("violated", "solver")
    assert found["steal"].counterexample is not None and found["close"].verdict == "holds"


def test_the_view_has_its_parameters() -> None:
    """They come before those of the action that have the same name."""

    class Core(Protocol):
        """One drawer."""

        coins: Nat

        @action
        def put(s, n: Nat):
            """Some coins are put into it."""
            s.coins = s.coins + n

    class Seen(Properties, of=Tills):
        """Each drawer is one."""

        @refinement(of=Core, actions={"close": with_parameters("put", lambda s, d: dict(n=s.counted[d]))})
        def puts(s, d: Desk):
            """The drawer of a desk."""
            return dict(coins=s.coins[d])

    assert decided(Seen)["close"].how == "stated"


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        (with_parameters("put", lambda s, e: dict(d=e)), "names 'e', which is no parameter of the view or of close"),
        (with_parameters("put", lambda s, d: dict(m=1)), "is given 'm'"),
        (with_parameters("put", lambda s, d: {}), "is given {}"),
        (with_parameters("put", lambda s, d: d), "is given <Desk: d>"),
        (with_parameters("put", lambda s, d: dict(n=d)), "the parameter n"),
        (with_parameters("take", lambda s, d: dict(d=d)), "takes close for 'take', which Drawers does not have"),
    ],
)
def test_statements_that_make_no_sense_are_refused(stated: object, says: str) -> None:
    """With what there is."""
    with pytest.raises(ModelError) as refused:
        of(Tills, (stated,)).properties  # noqa: B018 -- read for the error
    assert says in str(refused.value)


def test_a_whole_has_what_its_part_states_of_the_state_alone() -> None:
    """Parameters of the part's action are not those of the whole's."""

    class Two(Protocol):
        """A part and nothing else."""

        tills: Part[Tills]

    of_state = with_parameters("put", lambda s: dict(n=0))

    def lifted(stated: object) -> Refinement:
        class Parts(Properties, of=Two):
            """What the part states."""

            tills: Part[of(Tills, stated)]  # type: ignore[valid-type]

        found = Parts.properties["tills.puts"]
        assert isinstance(found, Refinement)
        return found

    assert lifted(RIGHT).by_stated_steps("tills.close") is None
    assert lifted(of_state).by_stated_steps("tills.close") is not None
    assert lifted(of_state).hints == lifted(RIGHT).hints == {"tills.close": ("put",), "tills.count": ()}

"""What an exported module says: as a person would write it, and in the names of the model."""

import re

import pytest
from fencepost.model.language.derived.mutations import settle
from fencepost.proofs.readings.ground import BoundsError
from fencepost.proofs.readings.tla import Exported, of_variant, stem_of
from fencepost.proofs.readings.tla.module import Source, exported
from fencepost.properties.catalogue import find, protocols
from tla_protocols import BOUNDS, Corners, CornersProperties


def corners(**changes: int) -> Exported:
    """The waiting room within its bounds, or others."""
    asked = CornersProperties.properties
    bounds = BOUNDS | changes
    return exported(Source("Corners", "a/b", "c", settle(Corners.spec), asked, bounds, {}, Corners, CornersProperties))


@pytest.fixture(scope="module")
def module() -> str:
    """The text of the waiting room's module."""
    return corners().module


@pytest.fixture(scope="module")
def yardstick() -> str:
    """The text of the yardstick's module."""
    entry, variant = find("kip618-yardstick/yardstick")
    assert variant is not None
    return of_variant(entry, variant, {"workers": 2, "tasks": 2, "log": 2}).module


def definition(module: str, name: str) -> str:
    """A definition with what is said of it, up to the next empty line."""
    found = re.search(rf"(?:^\\\*.*\n)*^{name}(?:\(.*\))? ==(?:.*\n)+?(?=\n|=====)", module, re.MULTILINE)
    assert found is not None, f"there is no definition of {name}"
    return found[0].rstrip("\n")


def test_an_action_has_the_names_of_the_model(yardstick: str) -> None:
    """Its sentence, the rules that its conditions cite, what it names before it assigns, and what stays."""
    assert (
        definition(yardstick, "start_round")
        == r"""
\* The leader reads to the end; a set after the latest count needs a round.
start_round(w) ==
    LET newest == latest_set
        counted == latest_count
        new == size(newest)
        old == IF counted = 0 THEN 0 ELSE size(counted)
        left_ == IF old = 0 \/ (old = 1 /\ new = 1) THEN 0 ELSE old
    IN  /\ leads[w]
        /\ round[w] = "NONE"
        /\ counted < newest  \* 618.4
        /\ left_ \in Count
        /\ read' = [read EXCEPT ![w] = Len(log)]
        /\ fencing' = [fencing EXCEPT ![w] = newest]
        /\ round' = [round EXCEPT ![w] = IF left_ = 0 THEN "CHECKED" ELSE "FENCING"]
        /\ left' = [left EXCEPT ![w] = left_]
        /\ UNCHANGED <<log, owner, leads, stage, generation, live>>""".lstrip("\n")
    )


def test_helpers_are_definitions(yardstick: str) -> None:
    """Of their own parameters; a helper that is called in two ways is two of them."""
    assert definition(yardstick, "latest_set") == "latest_set == Latest(log, Len(log), LAMBDA r : r < tasks)"
    assert (
        definition(yardstick, "latest_set_upto") == "latest_set_upto(upto) == Latest(log, upto, LAMBDA r : r < tasks)"
    )
    assert (
        definition(yardstick, "no_zombie")
        == r"""
\* Promise 618.P1. All tasks that are able to commit are of one generation.
no_zombie ==
    \A v \in Worker, w \in Worker, i \in Task, j \in Task :
       effective(v, i) /\ effective(w, j) => generation[v, i] = generation[w, j]""".lstrip("\n")
    )


def test_a_condition_is_counted_once_and_a_bound_is_one(module: str) -> None:
    """A disjunction would be several steps to TLC; a value beyond its bound, and a limit, leave no step."""
    assert (
        definition(module, "call")
        == r"""
\* The next number, or the first again.
call(c, turn_) ==
    /\ Holds(turn = turn_ \/ busy \/ someone_is_busy("BUSY"))
    /\ key_ < 2  \* a limit of exploration
    /\ turn + 1 \in Turn
    /\ (IF calls < 2 THEN calls + 1 ELSE calls) \in Turn
    /\ turn' = turn + 1
    /\ busy' = (clerk = c /\ ~busy)
    /\ mood' = [mood EXCEPT ![clerk] = "CALM", ![c] = "BUSY"]
    /\ calls' = IF calls < 2 THEN calls + 1 ELSE calls
    /\ UNCHANGED <<key_, clerk, asked, held, seat, log, losses_used>>""".lstrip("\n")
    )


def test_what_lies_outside_is_zero(module: str) -> None:
    """A map beyond its keys, a sequence beyond its end, and a number below 0."""
    assert r"Entry(seat, p + 1, None) = None" in definition(module, "sit")
    assert r"p + 1 \in Place" in definition(module, "sit")
    assert r"turn \ominus 1" in definition(module, "sit")
    assert "At(log, last + 1, 0) < 2  \\* 730.2" in definition(module, "note")
    assert r"Len(log) < max_log" in definition(module, "note")


def test_faults_are_counted(module: str) -> None:
    """A variable counts them, which no variable of the model is called."""
    lose = definition(module, "lose")
    assert r"\* A fault: at most losses times." in lose
    assert r"/\ losses_used < losses" in lose
    assert r"/\ losses_used' = losses_used + 1" in lose
    assert r"/\ held' = [d \in Clerk, t \in Turn |-> held[d, t] /\ d # c]" in lose


def test_the_start(module: str) -> None:
    """Zero everywhere, but for what init() assigns; a sort's zero value is its first element."""
    initial = definition(module, "Init")
    assert r"/\ turn = 1" in initial
    assert r"/\ clerk = FirstClerk" in initial
    assert r'/\ mood = [c \in Clerk |-> "CALM"]' in initial
    assert r"/\ held = [c \in Clerk, t \in Turn |-> t = 2]" in initial


def test_the_configuration() -> None:
    """Bounds as constants, sorts as sets of elements, all invariants, and the properties of steps."""
    assert corners().configuration.splitlines()[1:] == [
        "CONSTANTS",
        "    Clerk = {clerk0, clerk1}",
        "    FirstClerk = clerk0",
        *(f"    {name} = {size}" for name, size in (("places", 2), ("max_turn", 2), ("max_log", 2), ("losses", 1))),
        "    None = None",
        *("INIT Init", "NEXT Next", "INVARIANTS", "    TypeOK", "    within_turns", "    never_calm"),
        *("PROPERTIES", "    log_grows", "    calls_grow_by_one"),
    ]


def test_what_is_left_out_is_listed(module: str) -> None:
    """In the module, and with it to those who export it."""
    assert corners().left_out == ("ghosts that no property of states or steps reads: unread",)
    assert r"\* Not exported: ghosts that no property of states or steps reads: unread." in module


def test_symmetry_is_on_request() -> None:
    """And never of a sort whose first element is named."""
    entry, variant = find("kip618-yardstick/yardstick")
    assert variant is not None
    made = of_variant(entry, variant, {"workers": 2, "tasks": 2, "log": 2}, symmetry=True)
    assert "Symmetry == Permutations(Worker)" in made.module
    assert "SYMMETRY Symmetry" in made.configuration
    assert "Permutations" not in of_variant(entry, variant, {"workers": 2, "tasks": 2, "log": 2}).module


def test_bounds_are_refused_as_by_the_explorer() -> None:
    """A constant against an axiom, and a sort without elements."""
    with pytest.raises(BoundsError, match="the axiom"):
        corners(places=1)
    with pytest.raises(BoundsError, match="has no elements"):
        corners(clerks=0)


def test_every_variant_has_a_name_of_its_own() -> None:
    """Also where the variant adds nothing to its protocol's name."""
    stems = [stem_of(entry.name, variant.name) for entry in protocols().values() for variant in entry.variants]
    assert len(set(stems)) == len(stems)
    assert stem_of("kip618-yardstick", "yardstick") == "Kip618Yardstick"
    assert stem_of("id-blocks", "kraft-answer-first") == "IdBlocksKraftAnswerFirst"

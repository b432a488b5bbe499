"""What an exported module says: as a person would write it, in the names of the model, and what it refuses."""

import re
from dataclasses import replace

import pytest
from fencepost.model.language.derived.mutations import settle
from fencepost.model.language.tree.types import BOOL, OptionType
from fencepost.proofs.readings.ground import BoundsError
from fencepost.proofs.readings.murphi import Exported, of_variant
from fencepost.proofs.readings.murphi.module import exported
from fencepost.proofs.readings.tla.module import Source
from fencepost.properties.catalogue import bounds_of, find
from tla_protocols import BOUNDS, Corners, CornersProperties


def source(**changes: int) -> Source:
    """The waiting room within its bounds, or others."""
    asked, bounds = CornersProperties.properties, BOUNDS | changes
    return Source("Corners", "a/b", "c", settle(Corners.spec), asked, bounds, {}, Corners, CornersProperties)


@pytest.fixture(scope="module")
def module() -> str:
    """The text of the waiting room's module."""
    return exported(source()).module


def yardstick(*, symmetry: bool = False) -> Exported:
    """The yardstick's module."""
    entry, variant = find("kip618-yardstick/yardstick")
    assert variant is not None
    return of_variant(entry, variant, {"workers": 2, "tasks": 2, "log": 2}, symmetry=symmetry)


def block(module: str, line: str) -> str:
    """What stands between two empty lines, around a line that begins so."""
    (found,) = [part for part in module.split("\n\n") if re.search(rf"^\s*{re.escape(line)}", part, re.MULTILINE)]
    return found.strip("\n")


def test_a_rule_has_the_names_of_the_model() -> None:
    """Its sentence, the rules that its conditions cite, and its local names, which it computes before it assigns."""
    assert (
        block(yardstick().module, 'rule "check_round"')
        == """
ruleset w: Worker do
  -- All are fenced: the leader reads to the end, and gives up if there is a newer set.
  rule "check_round"
    round[w] = FENCING
    & left[w] = 0  -- 618.7
  ==>
  var
    newest: boolean;
  begin
    newest := latest_set() = fencing[w];
    read[w] := log_length;
    round[w] := (newest ? CHECKED : NONE);
    fencing[w] := (newest ? fencing[w] : 0);
  end;
end;""".lstrip("\n")
    )


def test_helpers_are_functions() -> None:
    """One that looks for the latest entry does so in a loop; a property calls them as rules do."""
    text = yardstick().module
    assert (
        block(text, "function latest_set()")
        == """
function latest_set(): 0 .. max_log;
var
  last: 0 .. max_log;
begin
  last := 0;
  for place: 1 .. max_log do
    if place <= log_length
       & log[place] < tasks then
      last := place;
    end;
  end;
  return last;
end;""".lstrip("\n")
    )
    assert "-- Can commit a transaction.\nfunction effective(w: Worker; i: Task): boolean;\n" in text
    assert (
        '-- Promise 618.P1. All tasks that are able to commit are of one generation.\ninvariant "no_zombie"\n' in text
    )


def test_what_is_assigned_stays_within_the_bounds(module: str) -> None:
    """As conditions; what the types say already is none of them."""
    assert "& turn + 1 <= max_turn\n" in block(module, 'rule "call"')
    assert "& key < 2  -- a limit of exploration\n" in block(module, 'rule "call"')
    assert "& p + 1 <= places - 1\n" in block(module, 'rule "sit"')
    assert "& log_length < max_log\n" in block(module, 'rule "note"')
    assert "<=" not in block(module, 'rule "clear"')


def test_what_lies_outside_is_zero(module: str) -> None:
    """A map beyond its keys, a sequence beyond its end, and a number below 0."""
    assert "(p + 1 <= places - 1 ? seat[p + 1] : None) = None" in module
    assert "minus(turn, 1)" in block(module, 'rule "sit"')
    assert "(1 <= place & place <= log_length ? log[place] : 0)" in block(module, "function log_at")


def test_everything_is_read_before_it_is_assigned(module: str) -> None:
    """The rule that assigns all of a map reads it at the same entry; what it reads besides is assigned after it."""
    clear = block(module, 'rule "clear"')
    assert clear.index("held[c][t] := !held[c][t] & t = turn") < clear.index("turn := 0;")
    note = block(module, 'rule "note"')
    assert note.index("last := latest_in_log();") < note.index("log[log_length + 1] := last + turn;")


def test_what_is_swapped_is_computed_first() -> None:
    """Two variables that become each other's value cannot be assigned one after the other."""
    spec = settle(Corners.spec)
    call = spec.actions["call"]
    turn, calls = (next(u for u in call.updates if u.variable == name) for name in ("turn", "calls"))
    swapped = (replace(turn, value=calls.value), replace(calls, value=turn.value))
    changed = replace(spec, actions=spec.actions | {"call": replace(call, updates=swapped)})
    text = block(exported(replace(source(), spec=changed)).module, 'rule "call"')
    assert text.index("new_calls := turn + 1;") < text.index("turn := (calls < 2 ?")
    assert text.index("turn := (calls < 2 ?") < text.index("\n    calls := new_calls;")


def test_the_start(module: str) -> None:
    """Zero everywhere, also where a sequence has no entries yet, but for what init() assigns."""
    initial = block(module, "startstate")
    for line in ("turn := 1;", "clerk := 0;", "asked := None;", "mood[c] := CALM;", "held[c][t] := t = 2;"):
        assert f" {line}\n" in initial
    assert "log_length := 0;\n  for place: 1 .. max_log do\n    log[place] := 0;\n" in initial


def test_faults_are_counted(module: str) -> None:
    """By a variable."""
    assert "  losses_used: 0 .. losses;  -- how many of the losses there were\n" in module
    assert "    losses_used < losses\n" in block(module, 'rule "lose"')
    assert "    losses_used := losses_used + 1;\n" in block(module, 'rule "lose"')


def test_what_is_left_out_is_said() -> None:
    """In the module, and with it to whoever exports it."""
    made = exported(source())
    assert made.left_out == (
        "ghosts that no property of states or steps reads: unread",
        "properties of steps: log_grows, calls_grow_by_one",
        "what is to be reached: holds_one, asked_one, full, called",
    )
    for sentence in made.left_out:
        assert f"-- Not exported: {sentence}." in made.module


def test_symmetry_is_on_request() -> None:
    """Of a sort of which no variable holds an element, which would be named as its first; of others that is said."""
    entry, variant = find("id-blocks/zookeeper")
    assert variant is not None
    bounds = bounds_of(variant, "smoke", {})
    made = of_variant(entry, variant, bounds, symmetry=True)
    assert "  Broker: scalarset(brokers);\n" in made.module
    assert "--symmetry-reduction exhaustive" in made.command
    assert "scalarset" not in of_variant(entry, variant, bounds).module
    held = yardstick(symmetry=True)
    assert "scalarset" not in held.module
    assert held.left_out[-1].endswith("holds an element: Worker")


def test_bounds_are_refused_as_by_the_explorer() -> None:
    """A constant against an axiom, and a sort without elements."""
    with pytest.raises(BoundsError, match="the axiom"):
        exported(source(places=1))
    with pytest.raises(BoundsError, match="has no elements"):
        exported(source(clerks=0))


def test_a_sequence_without_room_has_a_place() -> None:
    """Since Murphi has no empty range; nothing is ever there."""
    assert "log: array [1 .. 1] of Turn;" in exported(source(log=0)).module


def test_an_option_of_truth_is_refused() -> None:
    """No value of its type is none."""
    spec = settle(Corners.spec)
    changed = replace(spec, types=spec.types | {"unsure": OptionType(BOOL)})
    with pytest.raises(BoundsError, match="has no value in Murphi that is none"):
        exported(replace(source(), spec=changed))

"""What is at the end of a path of steps: states, standings, which steps are possible, and why others are not."""

import pytest
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.explorer.choices import written
from fencepost.proofs.explorer.session import MOST_STEPS, NoSuchRun, Place, Session, about, changes, place_of
from fencepost.properties.catalogue import bounds_of, find

YARDSTICK = "kip618-yardstick/yardstick"
V1 = "transactions/v1-verified"
COUNT = "elect(w=0);reconfigure(w=0,n=0);start_round(w=0);write_count(w=0)"


@pytest.fixture(scope="module")
def yardstick() -> Session:
    return Session(Place(YARDSTICK))


@pytest.fixture(scope="module")
def v1() -> Session:
    return Session(Place(V1))


def possible(session: Session, path: str) -> list[str]:
    trace = session.run(path)
    return [step["step"] for one in session.narrate(trace, len(trace))["possible"] for step in one["steps"]]


def test_every_path_of_possible_steps_is_one(yardstick: Session) -> None:
    """From each state the possible steps lead on; taken again from the text, they come to the same state."""
    path = ""
    for _ in range(12):
        step = possible(yardstick, path)[-1]
        path = f"{path};{step}" if path else step
    trace = yardstick.run(path)
    assert ";".join(map(written, trace.events)) == path
    assert yardstick.run(f" {path.replace(',', ', ')} ;").states == trace.states


def test_what_is_possible_is_what_the_search_takes(v1: Session) -> None:
    """The explorer's states in one step are as many as those that are shown."""
    made = explore(v1.spec, {}, v1.bounds, max_depth=1)
    after = {str(v1.run(step).states[-1]) for step in possible(v1, "")}
    assert made.levels[1] == len(after - {str(v1.initial)})


def test_a_step_that_is_not_possible_is_named_with_its_reason(v1: Session) -> None:
    with pytest.raises(NoSuchRun, match=r"^step 2 of the path, start\(c=0\), is not possible there: it needs not ask"):
        v1.run("start(c=0);start(c=0)")
    with pytest.raises(NoSuchRun, match=r"^step 1 .* is of no action here; did you mean start or ") as found:
        v1.run("strat(c=0)")
    assert found.value.fits == 0
    with pytest.raises(NoSuchRun, match=r"has no such parameters within these bounds; one of start is start\(c=0\)"):
        v1.run("start(c=7)")
    with pytest.raises(NoSuchRun, match=rf"{MOST_STEPS} are the most"):
        v1.run("start(c=0);" * (MOST_STEPS + 1))


@pytest.mark.parametrize(
    "strange", ["()", "start", "start(", "start(c=0)x", "<b>", "start(c=none)", "=;;=", "__init__()"]
)
def test_what_is_no_step_is_no_step(v1: Session, strange: str) -> None:
    with pytest.raises(NoSuchRun):
        v1.run(strange)


def test_reasons_cite_the_rule_that_is_not_followed(yardstick: Session) -> None:
    """One reason for each step that is not possible: with those that are they are all."""
    reported = yardstick.narrate(yardstick.run(""), 0)
    by_action = {one["action"]: one for one in reported["impossible"]}
    [reason] = by_action["reconfigure"]["reasons"]
    assert (reason["says"], reason["rule"], reason["bound"]) == ("leads[w]", "", False)
    assert reason["choices"] == ["worker 0, task 0", "worker 1, task 0"]
    cited = [reason for one in reported["impossible"] for reason in one["reasons"] if reason["rule"]]
    assert all(reason["rule_says"] for reason in cited)
    count = sum(len(r["choices"]) + r["more"] for one in reported["impossible"] for r in one["reasons"])
    allowed = sum(len(one["steps"]) + one["more"] for one in reported["possible"])
    assert count + allowed == sum(len(yardstick.plain.events(name)) for name in yardstick.spec.actions)


def test_a_comparison_is_reported_with_its_sides(v1: Session) -> None:
    reported = v1.narrate(v1.run(""), 0)
    [reason] = next(one for one in reported["impossible"] if one["action"] == "initialize")["reasons"]
    assert reason["says"] == "pending = INIT"
    assert reason["choices"][0].endswith(": NOTHING and INIT")


def test_steps_beyond_the_bounds_are_marked() -> None:
    """What the log has no room for, and a fault that has been taken as often as it may."""
    full = Session(Place(YARDSTICK, None, (("log", 1),)))
    reported = full.narrate(full.run("elect(w=0);reconfigure(w=0,n=0)"), 2)
    reasons = next(one for one in reported["impossible"] if one["action"] == "reconfigure")["reasons"]
    assert [reason["says"] for reason in reasons if reason["bound"]] == ["since what it assigns has no room in them"]
    spent = Session(Place("id-blocks/kraft", None, (("fail_overs", 1),)))
    with pytest.raises(NoSuchRun, match="it lies beyond the bounds, which have 1 fail overs"):
        spent.run("fail_over();fail_over()")


def test_a_step_that_breaks_a_promise_says_so() -> None:
    wrong = Session(Place(YARDSTICK, ("618.4", "start_round: guard 1 dropped")))
    trace = wrong.run("elect(w=0);start_round(w=0)")
    steps = {s["step"]: s["breaks"] for one in wrong.narrate(trace, 2)["possible"] for s in one["steps"]}
    assert steps["write_count(w=0)"] == ["counts match"]
    assert not any(breaks for step, breaks in steps.items() if step != "write_count(w=0)")


def test_lanes_stay_as_the_path_grows(yardstick: Session) -> None:
    lanes = [yardstick.narrate(yardstick.run(";".join(COUNT.split(";")[:n])), n)["lanes"] for n in range(5)]
    assert lanes == [["worker 0", "worker 1"]] * 5


def test_later_steps_stay_when_one_stands_earlier(yardstick: Session) -> None:
    """Standings are told of each step of the path, and what can follow of the one that one stands on."""
    trace = yardstick.run(COUNT)
    reported, alone = yardstick.narrate(trace, 1), yardstick.narrate(yardstick.run("elect(w=0)"), 1)
    assert reported["path"] == COUNT.split(";") and len(reported["states"]) == 5
    assert all(len(one["holds"]) == 5 for one in reported["properties"])
    assert (reported["possible"], reported["impossible"]) == (alone["possible"], alone["impossible"])


def test_a_loop_has_to_come_back(v1: Session) -> None:
    trace = v1.run("start(c=0)")
    assert v1.narrate(trace, 1, loop=1)["loop"] == 1
    for loop in (0, 5, -1):
        with pytest.raises(NoSuchRun, match="does not come back"):
            v1.narrate(trace, 1, loop=loop)


def test_what_can_be_chosen(v1: Session) -> None:
    """Every variant, every mistake with what its rule says, every bound with its reason."""
    reported = about(v1)
    assert [v["name"] for v in reported["variants"]] == [f"transactions/{v.name}" for v in v1.entry.variants]
    assert reported["wrong"] and all(m["says"] for m in reported["wrong"])
    assert {b["name"]: b["size"] for b in reported["bounds"]} == v1.bounds
    read_otherwise = about(Session(Place("id-blocks/kraft-answer-first")))
    assert not read_otherwise["wrong"] and read_otherwise["wrong_already"].startswith("730.7")


def test_a_place_has_the_bounds_that_differ() -> None:
    _, variant = find(YARDSTICK)
    assert variant is not None
    assert place_of(YARDSTICK, variant, bounds_of(variant, "smoke")).bounds == ()
    assert changes(variant, bounds_of(variant, "smoke", {"tasks": 2})) == (("tasks", 2),)


@pytest.mark.parametrize(
    ("place", "why"),
    [
        (Place("nope/nope"), "there is no protocol 'nope'"),
        (Place("id-blocks"), "id-blocks is a protocol; name a variant of it, such as id-blocks/"),
        (Place("id-blocks/nope"), "id-blocks has no variant 'nope'"),
        (Place(YARDSTICK, ("618.4", "nope")), 'has no mutation 618.4 "nope"'),
        (Place("id-blocks/kraft-answer-first", ("730.7", "x")), "has rule 730.7 wrong already"),
        (Place(YARDSTICK, None, (("nope", 1),)), "has no bound 'nope'"),
        (Place(YARDSTICK, None, (("tasks", 0),)), "it must not be negative"),
        (Place("id-blocks/kraft", None, (("size", 0),)), "kraft needs 1 <= size; choose other bounds"),
        (Place(YARDSTICK, None, (("workers", 0),)), "at least 1"),
        (Place(YARDSTICK, None, (("workers", -1),)), "choose one from 0 to 4096"),
        (Place("id-blocks/kraft", None, (("brokers", 4000), ("requests", 4000))), "too many to be listed"),
    ],
)
def test_a_place_that_there_is_not(place: Place, why: str) -> None:
    with pytest.raises(InputError, match=why) as found:
        Session(place)
    assert "\n" not in str(found.value)

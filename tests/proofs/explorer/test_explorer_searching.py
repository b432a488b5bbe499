"""What is looked for from a path: it breaks what it says, in the fewest steps, and is told as undecided if it is."""

import time
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.engines.explore import Start, explore
from fencepost.proofs.explorer.searching import Searches, another, endless, how_far, shortest
from fencepost.proofs.explorer.session import Place, Session

WRONG = Place("kip618-yardstick/yardstick", ("618.4", "start_round: guard 1 dropped"))
MOST = 500_000
HANGS = "nothing_hangs"


def unheard(_: str) -> None:
    """Of how far it has come."""


@pytest.fixture(scope="module")
def wrong() -> Session:
    return Session(WRONG)


@pytest.fixture(scope="module")
def v1() -> Session:
    return Session(Place("transactions/v1"))


def breaks(session: Session, answer: Any) -> bool:
    """At the last step of its path, and not before."""
    trace = session.run(answer["path"])
    holds = [session.plain.holds(session.properties[answer["property"]], state) for state in trace.states]
    return holds == [*[True] * len(trace), False]


def test_a_rule_got_wrong_breaks_a_promise(wrong: Session) -> None:
    reported: list[str] = []
    answer = shortest(wrong, None, MOST, reported.append)
    assert answer["says"] == "“counts match” is broken after 3 steps, and not in fewer."
    assert breaks(wrong, answer)
    assert reported[0] == "0 steps deep, 1 states"


def test_a_witness_is_reached_as_soon_as_it_can_be(wrong: Session) -> None:
    answer = shortest(Session(replace(WRONG, without=None)), "a_second_count", MOST, unheard)
    assert answer["says"] == "“a second count” is reached after 7 steps, and not in fewer."


def test_what_holds_is_reported_with_its_states() -> None:
    right = Session(replace(WRONG, without=None))
    reported = shortest(right, None, MOST, unheard)["says"]
    made = explore(right.spec, right.properties, right.bounds)
    assert (
        reported
        == f"No run breaks any of the 2 promises: all {made.distinct:,} states within these bounds were visited."
    )


def test_what_is_not_decided_is_reported_as_that() -> None:
    answer = shortest(Session(replace(WRONG, without=None)), "no_zombie", 50, unheard)
    assert "path" not in answer
    assert answer["says"].startswith("It is not decided: none of ") and "more than 50 states" in answer["says"]


def test_how_far_it_is_grows_by_one_with_each_step_back(wrong: Session) -> None:
    steps = shortest(wrong, "counts_match", MOST, unheard)["path"].split(";")
    for left in range(len(steps) + 1):
        far = how_far(wrong, ";".join(steps[: len(steps) - left]), MOST, unheard)["far"]["counts_match"]
        assert far["steps"] == left
        assert wrong.run(far["path"])


def test_how_far_is_reported_as_undecided_when_it_is() -> None:
    right = Session(replace(WRONG, without=None))
    far = how_far(right, "elect(w=0)", 50, unheard)["far"]
    assert set(far) == {"no_zombie", "counts_match"}
    assert all(one["says"].startswith("not within ") for one in far.values())
    complete = how_far(right, "elect(w=0)", MOST, unheard)["far"]
    assert all(one["says"].startswith("none of the ") for one in complete.values())


def test_a_search_from_a_state_goes_on_as_from_the_beginning() -> None:
    """What can follow a path is what the whole search finds behind it, faults that were taken included."""
    kraft = Session(Place("id-blocks/kraft", None, (("copies", 0), ("fail_overs", 1), ("ids", 2), ("requests", 1))))
    trace = kraft.run("fail_over()")
    start = Start(trace.states[-1], kraft.spent(trace.events))
    here = explore(kraft.spec, {}, kraft.bounds, start=start)
    none_left = explore(kraft.spec, {}, {**kraft.bounds, "fail_overs": 0}, start=replace(start, spent={}))
    assert here.distinct == none_left.distinct > 1
    assert here.taken["fail_over"] == 0


def test_another_run_is_another(v1: Session) -> None:
    """It breaks the same, with none of the known runs in it, whatever the order."""
    first = shortest(v1, HANGS, MOST, unheard)
    other = another(v1, HANGS, [first["path"]], MOST, unheard)
    assert breaks(v1, first) and breaks(v1, other)
    ways = [Counter(e.action for e in v1.run(one["path"]).events) for one in (first, other)]
    assert not ways[0] <= ways[1]
    assert "may be longer" in other["says"] or "It is " in other["says"]


def test_where_there_is_no_other_that_is_reported(wrong: Session) -> None:
    only = Session(Place("id-blocks/by-broker-id"))
    first = shortest(only, None, MOST, unheard)
    assert another(only, first["property"], [first["path"]], MOST, unheard)["says"].startswith("No other was found")


def test_an_endless_run_comes_back() -> None:
    """In the state, or the loop, that the path names; within the bounds that progress is judged in."""
    hanging = Session(Place("transactions/v1-hanging"))
    answer = endless(hanging, "decided_in_the_end", MOST, unheard)
    place = answer["place"]
    there = Session(Place(place["name"], place["without"], tuple(place["bounds"].items())))
    trace = there.run(answer["path"])
    assert there.narrate(trace, 0, loop=answer["loop"])["loop"] == answer["loop"]
    assert answer["says"].startswith("“decided in the end” does not come: after ")


def test_a_property_that_is_not_asked(wrong: Session) -> None:
    with pytest.raises(InputError, match="is not asked for a property 'nope'"):
        shortest(wrong, "nope", MOST, unheard)


def ended(searches: Searches, number: int) -> dict[str, Any]:
    for _ in range(500):
        if not (reported := searches.get(number).as_dict())["running"]:
            return reported
        time.sleep(0.01)
    raise AssertionError("the search does not end")


def test_a_search_can_be_given_up() -> None:
    """It ends at the next level; what was asked for afterwards takes its place."""
    searches, heard = Searches(), list[str]()

    def endlessly(reported: Any) -> Any:
        while True:
            reported("still looking")
            heard.append("")
            time.sleep(0.01)

    first = searches.begin(endlessly)
    assert searches.get(first.number).as_dict()["running"]
    searches.give_up(first.number)
    assert ended(searches, first.number)["error"] == "the search was given up"
    time.sleep(0.1)
    before = len(heard)
    time.sleep(0.1)
    assert len(heard) == before
    second = searches.begin(lambda reported: {"says": "done"})
    assert ended(searches, second.number)["answer"] == {"says": "done"}
    with pytest.raises(InputError, match="search 1 is over"):
        searches.get(first.number)


@pytest.mark.parametrize(("error", "text"), [(InputError("why"), "why"), (KeyError("x"), "a mistake in the code")])
def test_a_search_that_fails_says_why(error: Exception, text: str) -> None:
    def failing(_: Any) -> Any:
        raise error

    searches = Searches()
    assert text in ended(searches, searches.begin(failing).number)["error"]

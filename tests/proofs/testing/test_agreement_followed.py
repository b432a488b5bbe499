"""A model that follows nothing agrees with none: the share of programs followed to their end is told, and below the
least that means something the verdict is unknown."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import fencepost, read_json
from fencepost.proofs import verify as module
from fencepost.proofs.results import Result
from fencepost.proofs.testing import AgreementReport, agree
from fencepost.proofs.verdict_cache import Earlier
from fencepost.properties.conformance_spec import FOLLOWED, Agreeing, Beyond, Followed, driven
from fencepost.properties.id_blocks.variants import ID_BLOCKS as ENTRY

ID_BLOCKS = driven("id-blocks")
DEFECT = "fencepost.reference_impl.defects.id_blocks:wrong_error_for_stale_epoch"
REFERENCE = "fencepost.reference_impl.systems.id_blocks:reference"
LOST = "the model follows nothing at all"
LIVE = {name for name, action in ENTRY.variant("kraft").spec.actions.items() if not action.dead}
SHARE = re.compile(r"; 100% of (\d+) followed to their end \((\d+) more judged by promises alone, as the model has no ")


def losing(left: int) -> Agreeing:
    """Producer id blocks with a model that follows the first few systems, and loses every other at the first call."""
    systems = 0

    def follow(variant: str, config: Any) -> Followed:
        assert ID_BLOCKS.follow is not None
        found = ID_BLOCKS.follow(variant, config)
        nonlocal systems
        systems += 1
        if systems <= left:
            return found

        class Lost(found.interpreter.func):  # type: ignore[name-defined]
            def called(self, made: Any, messages: Any) -> None:
                raise Beyond(LOST)

        return replace(found, interpreter=lambda: Lost(config["brokers"], config["block_size"]))

    return replace(ID_BLOCKS, follow=follow)


class EveryCall(frozenset[str]):
    """The names of all calls there are."""

    def __contains__(self, name: object) -> bool:
        return True


def driven_by(protocol: Agreeing, implementation: str = REFERENCE, **options: Any) -> AgreementReport:
    return agree(
        implementation, protocol=protocol, variant="kraft", seed=1, verdict_only=True, **{"max_examples": 20, **options}
    )


def test_a_model_that_follows_nothing_is_found_out() -> None:
    """A defect that the model sees is found; a model that is lost at the first call says `unknown`, not `holds`."""
    assert driven_by(ID_BLOCKS, DEFECT, max_examples=40).verdict == "violated"
    report = driven_by(losing(0), DEFECT, max_examples=40)
    assert (report.verdict, report.failure) == ("unknown", None)
    lost = report.coverage.beyond[LOST]
    assert lost == report.examples == 40
    assert report.inconclusive == (
        f"the model followed {1 - lost / report.systems:.0%} of {report.systems} programs to their end, "
        f"95% is the least: {LOST} ({lost} times)"
    )


@pytest.mark.parametrize(("left", "verdict"), [(1000, "holds"), (10, "unknown")])
def test_the_share_is_reported(left: int, verdict: str) -> None:
    """Of all systems driven; all of them where the model follows all.  A system that Hypothesis gives up before its
    first call is none, and no example."""
    report = driven_by(losing(left))
    assert report.examples == report.systems == 20
    assert (report.verdict, report.least) == (verdict, FOLLOWED)
    lost = report.coverage.beyond[LOST]
    assert lost == 0 if left > report.systems else lost >= report.systems - left
    assert report.followed == (report.systems - lost) / report.systems


def test_a_violation_is_one_whatever_was_followed() -> None:
    """Promises are held against what a system shows, model or not."""
    broken = "fencepost.reference_impl.defects.id_blocks:next_id_not_advanced"
    assert driven_by(losing(0), broken, max_examples=40).verdict == "violated"


def test_promises_alone_need_no_model() -> None:
    """Nothing is followed then, and nothing is inconclusive."""
    report = driven_by(ID_BLOCKS, promises_only=True)
    assert (report.verdict, report.followed, report.inconclusive) == ("holds", None, "")


def test_calls_that_end_a_program_may_be_too_much_for_the_model() -> None:
    """Where the machine ends every program with a call that is not followed, the program is followed to its end; where
    another call comes after it, it is not."""
    whole = driven_by(replace(losing(0), ending=EveryCall()))
    assert (whole.coverage.beyond[LOST], whole.followed) == (0, 1.0)
    part = driven_by(replace(losing(0), ending=frozenset({"init_producer_id"})))
    assert part.coverage.beyond[LOST] == part.coverage.unfollowed > part.systems / 2


def verdict_of(report: AgreementReport) -> tuple[module.Verification, Result]:
    """What verify makes of a report."""
    made = module.Verification()
    planned = module.Plan([], [], [("kraft", lambda: Earlier(report, None))])
    ((_, found),) = module._implementation(made, ENTRY, planned)
    return made, found


def test_verify_is_not_green_by_a_model_that_follows_nothing() -> None:
    """It is inconclusive, and that is not as expected."""
    _, found = verdict_of(driven_by(losing(0)))
    assert (found.verdict, found.expected, found.as_expected) == ("unknown", "holds", False)
    assert found.evidence["reason"].startswith("the model followed 0%")
    assert set(found.evidence["unreached"]) == LIVE


def test_verify_names_the_actions_that_no_program_reached() -> None:
    """In the JSON, and under what is left unchecked."""
    report = driven_by(ID_BLOCKS, max_examples=2, steps=3)
    made, found = verdict_of(report)
    assert found.evidence["followed"] == 1.0
    never = found.evidence["unreached"]
    assert never
    assert made.open == [f"id-blocks/kraft: driven without {', '.join(never)}"]
    assert set(never) == {name for name in LIVE if not report.coverage.actions[name]}


def test_agree_is_not_green_by_a_model_that_follows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 1, the share with its reasons in words, and in JSON; and a failure in JUnit."""
    monkeypatch.setattr("fencepost.proofs.cli.agree.driven", lambda _: losing(3))
    reports = ("--json", tmp_path / "a.json", "--junit", tmp_path / "a.xml")
    ran = fencepost("agree", "id-blocks/kraft", "--examples", 20, *reports)
    assert ran.code == 1
    reported = read_json(tmp_path / "a.json")
    assert reported["verdict"] == "unknown"
    assert (reported["least"], set(reported["beyond"])) == (FOLLOWED, {LOST})
    assert 0 < reported["followed"] < 0.5
    assert f"unknown after {reported['examples']} clusters" in ran.out
    assert f"    inconclusive: the model followed {reported['followed']:.0%} of " in ran.out
    assert "--promise all asks for no more" in ran.out
    assert '<failure message="is unknown after ' in (tmp_path / "a.xml").read_text(encoding="utf-8")


def test_agree_says_which_share_was_followed() -> None:
    """Also where everything is fine: of as many clusters as were driven, or else with where the others are."""
    ran = fencepost("agree", "id-blocks/kraft", "--examples", 5)
    assert ran.code == 0
    assert " holds after 10 clusters, " in ran.out and "100% of 10 followed to their end, " in ran.out
    ran = fencepost("agree", "source-offsets/text-merged-view", "--examples", 5, "--steps", 3)
    driven, (followed, more) = re.search(r" after (\d+) clusters, ", ran.out), SHARE.search(ran.out).groups()
    assert 0 < int(more) < int(driven[1]) == int(followed) + int(more)
    ran = fencepost("agree", "id-blocks/kraft", "--examples", 20, "--implementation", DEFECT)
    first, every = re.search(r" after (\d+) clusters \(of (\d+) driven\), ", ran.out).groups()
    assert int(first) < int(every) and f" of {every} followed to their end, " in ran.out


def test_agree_does_not_ask_for_what_cannot_be_taken() -> None:
    """An action that the model declares dead is not named as left untried, and one without an event is by itself."""
    ran = fencepost("agree", "id-blocks/bridge", "--examples", 1, "--steps", 1, "--verbose")
    assert "reject" not in ran.out
    untried, unobservable = (line for line in ran.out.splitlines() if line.startswith("    actions of the model that"))
    assert "write_unseen" not in untried and unobservable.endswith("seen to take them: write_unseen")

"""What each release of Kafka keeps: how a cell comes from verdicts, and that nothing of it is typed."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import fencepost, read_json
from fencepost.model.releases import (
    ABSTRACTION,
    AT_THE_POLL,
    ENABLED,
    NAMES,
    SETTINGS,
    TEXT,
    UNVERIFIED,
    V2,
    Kafka,
    Of,
    defaults,
    each_of,
)
from fencepost.model.rules import RULES
from fencepost.proofs.necessity.ledger import Verdicts, _promised
from fencepost.proofs.necessity.tables import FOLDER, RELEASES, all_saved
from fencepost.proofs.scope.certified import CERTIFICATES, outdated, standing
from fencepost.proofs.scope.findings import FINDINGS, Finding
from fencepost.proofs.scope.releases import Cell, Releases, column_of
from fencepost.proofs.scope.releases_page import long, page, short
from fencepost.properties.catalogue import ProtocolEntry, Variant, find, protocols, whole_of
from fencepost.properties.id_blocks.variants import ID_BLOCKS
from fencepost.properties.registry import PROTOCOLS

PROMISE = "730.P1"
EVERY = [(entry, variant) for entry in protocols().values() for variant in entry.variants]


def catalogue(**of: Of) -> ProtocolEntry:
    """Producer id blocks, with these variants alone, each of these releases."""
    named = {name.replace("_", "-"): releases for name, releases in of.items()}
    variants = tuple(replace(ID_BLOCKS.variant(name), of=releases) for name, releases in named.items())
    return replace(ID_BLOCKS, variants=variants)


def remembered(facts: Mapping[str, Any]) -> Callable[[Variant, str, Callable[[], Any]], Any]:
    """Verdicts by ``variant``, or by ``variant property``; of what breaks the steps, and no dangers."""

    def remember(variant: Variant, name: str, ask: Callable[[], Any]) -> Any:
        what, _, item = name.partition(" ")
        return [] if what == "dangers" else facts.get(f"{variant.name} {item}", facts.get(variant.name))

    return remember


def cell(entry: ProtocolEntry, release: str, facts: Mapping[str, Any], *findings: Finding, **changed: str) -> Cell:
    named = {name.replace("_", "."): value for name, value in changed.items()}
    return Releases([entry], remembered(facts), findings).cell(PROMISE, release, named)


def finding(*seen: str, not_seen: tuple[str, ...] = (), means: Any = "live") -> Finding:
    return Finding(
        "ids twice", "x", "controller", "x", (PROMISE,), "confirmed by KAFKA-1, fixed in 4.3.0", "x",
        variants=("id-blocks/kraft-answer-first",), seen=seen, not_seen=not_seen, means=means,
    )  # fmt: skip


def test_every_variant_says_of_which_releases_it_is() -> None:
    """One that is of none says whether it is what a text has, a mistake or an abstraction."""
    assert [f"{entry.name}/{variant.name}" for entry, variant in EVERY if variant.of is None] == []


def test_a_run_that_breaks_it_outweighs_every_proof() -> None:
    """Where a variant that breaks the promise is of the release; elsewhere the proof counts."""
    entry = catalogue(kraft=Kafka(), kraft_answer_first=Kafka("4.0.0", "4.1"))
    facts = {"kraft": "proved", "kraft-answer-first": 7}
    assert [cell(entry, r, facts).verdict for r in ("3.9", "4.0.0", "4.1", "4.2")] == [
        "proved", "broken", "broken", "proved",
    ]  # fmt: skip
    broken = cell(entry, "4.1", facts)
    assert (broken.steps, broken.evidence, short(broken)) == (7, "model", "7 model")
    assert {one.variant for one in broken.breaks} == {"id-blocks/kraft-answer-first"}
    assert "broken in 7 steps: id-blocks/kraft-answer-first (no id twice in 7; not seen yet)" in long(broken)


def test_verdicts_are_those_of_the_engines() -> None:
    """Computed here: a proof, a shortest run of 7 steps, and the danger without which there is none."""
    entry = catalogue(zookeeper=Kafka("3.6", "3.9"), kraft_answer_first=Kafka("4.0.0"))
    of = Releases([entry], findings=())
    assert of.cell("730.P2", "3.9").verdict == "proved"
    broken = of.cell("730.P2", "4.2")
    assert (broken.verdict, broken.steps) == ("broken", 7)
    assert "coordinator-fail-over" in broken.breaks[0].dangers


def test_the_shortest_run_counts() -> None:
    entry = catalogue(kraft_answer_first=Kafka(), bridge_from_last_id=Kafka())
    assert cell(entry, "4.2", {"kraft-answer-first": 7, "bridge-from-last-id": 5}).steps == 5


def test_a_property_has_its_strongest_verdict_and_the_cell_the_weakest() -> None:
    """Two properties: one is proved of one variant and explored of another, the other explored alone."""
    entry = catalogue(kraft=Kafka(), zookeeper=Kafka())
    assert cell(entry, "4.2", {"kraft": "holds-bounded", "zookeeper": "proved"}).verdict == "proved"
    assert cell(entry, "4.2", {"kraft": "holds-bounded", "zookeeper": "holds-bounded"}).verdict == "holds-bounded"
    facts = {"kraft": "proved", "kraft persisted_once": "holds-bounded", "zookeeper": "proved"}
    two = Releases([entry], remembered(facts))
    assert two.cell("730.P2", "4.2").verdict == "holds-bounded"


def test_a_proof_that_leans_on_what_is_not_proved_is_none() -> None:
    reported = cell(catalogue(kraft=Kafka()), "4.2", {"kraft": "not proved"})
    assert reported.verdict == "not judged"
    assert "leans on what is not inductive" in reported.why


def test_what_holds_is_violated_unexpectedly() -> None:
    """A search that finds a run in a variant of which it is expected to hold breaks the promise."""
    reported = cell(catalogue(kraft=Kafka()), "4.2", {"kraft no_id_twice": "violated", "kraft": 3})
    assert reported.verdict == "broken"


def test_what_a_variant_lacks_is_not_judged() -> None:
    """What holds of the variant is not said of the release, unless another variant has it; what breaks is."""
    lacking = Kafka(lacks="answers twice")
    reported = cell(catalogue(kraft=lacking), "4.2", {"kraft": "proved"})
    assert (reported.verdict, short(reported)) == ("not judged", "–")
    assert "and Kafka also does this: answers twice" in long(reported)
    both = catalogue(kraft=lacking, zookeeper=Kafka())
    assert cell(both, "4.2", {"kraft": "proved", "zookeeper": "proved"}).verdict == "proved"
    assert cell(catalogue(kraft_answer_first=lacking), "4.2", {"kraft-answer-first": 7}).verdict == "broken"


def test_without_a_variant_of_it_a_release_is_not_judged() -> None:
    """And it is said of which releases the promise is asked; variants of none do not count."""
    entry = catalogue(kraft=Kafka("4.2"), zookeeper=TEXT, bridge=ABSTRACTION)
    reported = cell(entry, "4.1", {"kraft": "proved", "zookeeper": "proved", "bridge": "proved"})
    assert (reported.verdict, reported.why) == ("not judged", "no variant is of it; it is asked of Kafka 4.2 to trunk")


def test_properties_that_are_asked_elsewhere_alone() -> None:
    """`persisted once` is asked of KRaft and not of ZooKeeper."""
    entry = catalogue(zookeeper=Kafka("3.6", "3.9"), kraft=Kafka("4.0.0"))
    of = Releases([entry], remembered({"kraft": "proved", "zookeeper": "proved"}))
    old, new = of.cell("730.P2", "3.9"), of.cell("730.P2", "4.2")
    assert (old.unasked, short(old)) == (("id-blocks/persisted_once",), "proved*")
    assert (new.unasked, short(new)) == ((), "proved")


def test_a_setting_that_is_not_as_usual_has_a_cell_of_its_own() -> None:
    """In the releases that know it; and where it is the default, it is in the release's own cell."""
    unclean = {"transaction.version": "1"}
    entry = catalogue(kraft=Kafka(settings=V2), kraft_answer_first=Kafka(settings=unclean))
    facts = {"kraft": "proved", "kraft-answer-first": 7}
    of = Releases([entry], remembered(facts), ())
    key = (("transaction.version", "1"),)
    assert of.otherwise[key][PROMISE] == NAMES[NAMES.index("4.0.0") :]
    assert cell(entry, "3.9", facts).verdict == "broken"
    assert cell(entry, "4.1", facts).verdict == "proved"
    assert cell(entry, "4.1", facts, transaction_version="1").verdict == "broken"
    assert {c.verdict for c in of.changed([PROMISE])} == {"broken"}


def test_a_finding_says_where_a_run_was_seen() -> None:
    """On the release itself it is evidence; on another one it is told."""
    entry = catalogue(kraft_answer_first=Kafka())
    facts = {"kraft-answer-first": 7}
    here, there = (cell(entry, r, facts, finding("4.3.1")) for r in ("4.3", "4.2"))
    assert (short(here), short(there)) == ("7 live", "7 model")
    assert all("KAFKA-1; seen live on 4.3.1" in long(each) for each in (here, there))
    assert short(cell(entry, "4.4.0", facts, finding("4.4.0", means="classes"))) == "7 classes"


@pytest.mark.parametrize(
    ("exact", "column"),
    [("4.3.1", "4.3"), ("4.0.0", "4.0.0"), ("4.0.2", "4.0.1"), ("3.9.1", "3.9"), ("4.4.0", "4.4.0"), ("3.3.2", None)],
)
def test_the_column_of_an_exact_release(exact: str, column: str | None) -> None:
    assert column_of(exact) == column


def test_promises_are_asked_where_they_are_made() -> None:
    """Those of KIP-618 with the support on, which is off by default; a setting that a release does not know is none."""
    assert defaults("4.2", "618")["exactly.once.source.support"] == "enabled"
    assert defaults("4.2", "src")["exactly.once.source.support"] == "disabled"
    assert Kafka(settings=ENABLED).has("4.2", defaults("4.2", "618"))
    assert [defaults(r)["group.consumer.assignment.interval.ms"] for r in ("4.2", "4.3")] == ["0", "1000"]
    assert Kafka(settings=UNVERIFIED).needs("4.2", defaults("4.2")) == {
        "transaction.version": "1", "transaction.partition.verification.enable": "false",
    }  # fmt: skip
    assert Kafka(settings=AT_THE_POLL).needs("4.2", defaults("4.2"))["group.protocol"] == "consumer"


@pytest.mark.parametrize(
    "wrong", [{"no.such": "1"}, {"transaction.version": "3"}, {"transaction.version": ("2", "3")}], ids=str
)
def test_a_setting_without_a_source_is_refused(wrong: Mapping[str, str]) -> None:
    with pytest.raises(ValueError, match="add it to SETTINGS, with its source"):
        Kafka(settings=wrong)


def test_releases_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(ValueError, match=r"no release is from 4.2 to 4.0.0"):
        Kafka("4.2", "4.0.0")


def test_settings_are_declared_whole() -> None:
    """Each has a source, its defaults are among its values, and are known to the releases that have them."""
    for setting in SETTINGS.values():
        assert setting.source
        assert all(setting.knows(release, setting.of(release)) for release in NAMES), setting.name
        assert set(setting.switched_on.values()) <= set(setting.values)


@pytest.mark.parametrize("each", [f for f in FINDINGS if f.variants], ids=lambda each: each.name)
def test_no_variant_is_of_a_release_on_which_its_finding_was_not_seen(each: Finding) -> None:
    """A program that looked for it on a release and did not see it contradicts a variant that is of that release."""
    for name in each.variants:
        _, variant = find(name)
        assert variant is not None
        releases = {release for kafka in each_of(variant.of) for release in kafka.releases}
        assert not releases & {column_of(exact) for exact in each.not_seen}, name


def test_nothing_is_computed_for_the_cached_page() -> None:
    """The page is that of what is kept, word for word: of the models as they are, and of nothing else."""

    def missing() -> Any:
        raise AssertionError("a verdict of the page is not kept: run the command in its first lines")

    kept = all_saved()
    entries = list(protocols().values())
    sure, old = standing(entries)
    remember = lambda variant, name, ask: kept.remember(variant, name, missing)  # noqa: E731
    made = page(Releases(entries, remember, certified=sure), kept.models, outdated(old))
    assert (FOLDER / "releases.md").read_text(encoding="utf-8") == made
    assert RELEASES.exists()


CHANGES = {
    "another model": ({"models": "0" * 16}, False, True),
    "other code": ({"code": "0" * 12}, False, True),
    "a step without a proof": ({"certified": 82}, False, False),
    "nothing": ({}, True, False),
}


@pytest.mark.parametrize("change", CHANGES)
def test_certificates_count_while_they_are_whole_and_of_this_model(change: str, tmp_path: Path) -> None:
    """A row of another model or of other code is out of date, and says so; one that lacks a step is not certified."""
    edit, counts, is_old = CHANGES[change]
    [row] = (r for r in json.loads(CERTIFICATES.read_text(encoding="utf-8")) if r["variant"] == "id-blocks/zookeeper")
    file = tmp_path / "certificates.json"
    file.write_text(json.dumps([{**row, **edit}]), encoding="utf-8")
    sure, old = standing(protocols().values(), file)
    assert ("id-blocks/zookeeper" in sure, "id-blocks/zookeeper" in old) == (counts, is_old)
    assert ("id-blocks/zookeeper" in outdated(old)) == is_old


@pytest.mark.parametrize(
    ("verdict", "certified", "word"),
    [
        ("proved", ["kraft-lengths"], "certified"),
        ("proved", [], "proved"),
        ("holds-bounded", ["kraft-lengths"], "holds"),
    ],
)
def test_a_cell_is_certified_if_all_that_it_rests_on_is(verdict: str, certified: list[str], word: str) -> None:
    """Of two variants that prove a property, the certified one is named; what is not proved is not certified."""
    entry = catalogue(kraft=Kafka("3.6"), kraft_lengths=Kafka("3.6"))
    facts = {"kraft": verdict, "kraft-lengths": verdict}
    found = Releases([entry], remembered(facts), (), [f"id-blocks/{name}" for name in certified]).cell(PROMISE, "3.6")
    assert (short(found), found.certified) == (word, word == "certified")
    named = "id-blocks/kraft-lengths" if word == "certified" else "id-blocks/kraft"
    assert found.held and {one.variant for one in found.held} == {named}


def test_every_broken_promise_is_in_its_row() -> None:
    """The row names every variant of a release that breaks it, readings of rules too, and counts the others."""
    unlisted = []
    for protocol in PROTOCOLS:
        entries = whole_of(protocols()[protocol])
        found = Verdicts(lambda variant, name, ask: 7 if name.startswith("steps") else "proved")
        for promise in (number for number, rule in RULES.items() if rule.kind == "promise"):
            rows = dict(zip(*_rows(promise, entries, found), strict=True))
            for entry in entries:
                for variant in entry.variants:
                    for name, item in variant.asked.items():
                        if item.rule == promise and variant.expected.get(name) == "violated":
                            named = f"{variant.name} (" in rows[name] or not any(each_of(variant.of))
                            if not named or not (any(each_of(variant.of)) or "broken in" in rows[name]):
                                unlisted.append((promise, f"{entry.name}/{variant.name}", name))
    assert unlisted == []


def _rows(promise: str, entries: list[ProtocolEntry], found: Verdicts) -> tuple[list[str], list[str]]:
    reported = list(_promised(promise, entries, found))
    return [line.split("*")[1].replace(" ", "_") for line in reported], reported


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--release", "4.4"), "there is no release '4.4' here; did you mean 4.4.0"),
        (("--promise", "tnx.P3"), "there is no promise 'tnx.P3'; did you mean txn.P3"),
        (("--promise", "730.7"), "there is no promise '730.7'; did you mean 730.P"),
    ],
)
def test_a_wrong_name_is_refused_in_a_line(words: tuple[str, str], text: str) -> None:
    ran = fencepost("releases", *words)
    assert (ran.code, ran.out) == (2, "")
    assert text in ran.err
    assert ran.err.count("\n") == 1


def test_the_command_tells_a_release_and_a_promise(tmp_path: Path) -> None:
    """In JSON a row a cell, those of other settings too; on the screen a line each."""
    file = tmp_path / "cells.json"
    ran = fencepost("releases", "--release", "4.3", "--promise", "txn.P4", "--json", file)
    assert (ran.code, ran.err) == (0, "")
    rows = read_json(file)
    assert {(row["promise"], row["release"]) for row in rows} == {("txn.P4", "4.3")}
    usual = next(row for row in rows if not row["settings"])
    assert usual["verdict"] == "broken"
    assert usual["breaks"][0]["steps"] == usual["steps"]
    assert f"broken in {usual['steps']} steps" in ran.out
    assert any(row["settings"] for row in rows)


def test_all_releases_fit_on_a_screen() -> None:
    """A line a promise, as wide as a terminal, and what the words mean."""
    ran = fencepost("releases")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 120
    promises = {number for number, rule in RULES.items() if rule.kind == "promise"}
    assert promises >= {line.split()[0] for line in lines if line.split()[0] in RULES}
    assert "verdicts kept from earlier runs on the same models" in ran.out

"""Histories straight from models: they are runs of the model, replay finds in them what broke there, and they are the
same however they are made."""

import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from command_line import fencepost, read_json
from fencepost.proofs.readings.ground import Node, evaluate
from fencepost.proofs.scale.from_model.emission import dtype_of
from fencepost.proofs.scale.from_model.runs import Rows, drawn
from fencepost.proofs.scale.from_model.simulator import SIMULATOR, kernels_for, runs_of
from fencepost.proofs.scale.generate import generate
from fencepost.proofs.scale.seeds import seeds_of
from fencepost.proofs.scale.units import SparkSettings
from fencepost.proofs.traces import conformance_of
from fencepost.proofs.traces.kernel import ConformanceKernel
from fencepost.properties.catalogue import protocols
from fencepost.properties.history.pieces import check_whole
from fencepost.properties.transactions.events.kinds import Kind
from model_histories import config, refused_variants, reported_variants, runs, violating

FOLLOWED = {
    "id-blocks": ("zookeeper", "bridge", "kraft"),
    "transactions": ("v1-prompt", "v1-verified-prompt"),
    "task-counts": ("core-A", "core-M", "core-B", "core-shipped"),
    "group-fencing": ("shipped", "draft-repaired-by-generation", "new-protocol", "new-protocol-relaxed"),
}
"""The right variants that histories are held against as well."""
RIGHT = {
    "id-blocks": ("kraft-lengths",),
    "transactions": ("v2", "v2-trunk"),
    "group-fencing": ("shipped-cooperative", "new-protocol-listener-metadata-at-send"),
}
"""Further right ones."""
EXACT = {
    "id-blocks/kraft-own-length": {"no_id_twice": "ids_unique"},
    "id-blocks/kraft-malformed-taken": {"no_id_twice": "ids_unique"},
    "id-blocks/kraft-answer-first": {"no_id_twice": "ids_unique", "disjoint_blocks": "answers_disjoint"},
    "id-blocks/kraft-snapshot-of-block": {
        "no_id_twice": "ids_unique", "disjoint_blocks": "answers_disjoint", "persisted_once": "blocks_disjoint",
        "used_up_for_ever": "blocks_contiguous",
    },
    "id-blocks/bridge-from-block-start": {"no_id_twice": "ids_unique", "disjoint_blocks": "blocks_disjoint"},
    "id-blocks/bridge-from-last-id": {"no_id_twice": "ids_unique", "disjoint_blocks": "blocks_disjoint"},
    "id-blocks/kraft-idempotent": {"no_id_twice": "ids_unique"},
    "id-blocks/kraft-faulty-controller-off-by-one": {"no_id_twice": "ids_unique"},
    "id-blocks/kraft-threads-without-test": {"no_id_twice": "ids_unique"},
    "transactions/v1": {
        "nothing_committed_unasked": "markers_as_decided", "as_told": "markers_as_told", "nothing_lost": "commits_kept",
    },
    "transactions/v1-verified": {"nothing_committed_unasked": "markers_as_decided", "as_told": "markers_as_told"},
    "task-counts/core-count-stands-after": {"no_zombie": "no_zombie_commits"},
    "task-counts/core-no-check-after": {"no_zombie": "no_zombie_commits"},
    "task-counts/core-late-round": {"latest_leader_writes": "counts_of_newest_set"},
    "group-fencing/draft": {"nothing_twice": "nothing_twice"},
    "group-fencing/group-id-only": {"nothing_twice": "nothing_twice"},
}  # fmt: skip
"""By mistaken variant, its promises that a history property says of histories: both break in the same runs."""
WITHIN = {
    "task-counts/core-plain-leader": {"latest_leader_writes": "writes_by_latest_claimant"},
    "task-counts/core-reclaimed": {"latest_leader_writes": "counts_of_newest_set"},
    "task-counts/core-A-behind": {"latest_leader_writes": "counts_of_newest_set"},
    "task-counts/core-late-commits": {"one_of_each": "fenced_never_commit"},
    "task-counts/core-shortcut-as-worded": {"all_covered": "fenced_before_count"},
    "group-fencing/unstable-fetch": {"starts_from_what_counts": "fetches_are_stable"},
}
"""Where the history property says more than the promise: what comes before the harm, or harm that came to no one."""
MANY = {"transactions/v1": 8_000, "transactions/v1-verified": 8_000}
"""Runs that are made of those which seldom break; of others half as many."""


def _names(of: dict[str, tuple[str, ...]]) -> list[str]:
    return [f"{protocol}/{variant}" for protocol, variants in of.items() for variant in variants]


def tried(names: Sequence[str]) -> list[Any]:
    """Of each protocol the first in every run, the others of some nights."""
    first = {name.partition("/")[0]: name for name in reversed(names)}
    return [pytest.param(n, marks=[] if n in first.values() else pytest.mark.nightly(nights=12)) for n in names]


@pytest.mark.parametrize("name", tried(_names(FOLLOWED)))
def test_right_histories_hold_and_conform(name: str) -> None:
    """No promise breaks in the model, no history property in its histories, and each is a run of what follows them."""
    manifest, made = runs(name, 1_500)
    assert check_whole(made.columns, name) == 1_500
    assert {promise: int(np.count_nonzero(runs)) for promise, runs in made.broken.items() if runs.any()} == {}
    assert made.broken
    assert violating(manifest, made.columns) == {}
    kernel = conformance_of(manifest)
    assert isinstance(kernel, ConformanceKernel)
    judged = kernel(made.columns)
    assert (judged.violations, judged.undecided) == ([], {})


def test_v2_is_followed_as_of_its_release() -> None:
    """A fence of 4.3 has one bump; of 4.0 it had two, so that no run with a fence is one of 4.0."""
    manifest, made = runs("transactions/v2", 1_000)
    earlier = msgspec.structs.replace(manifest, config={**manifest.config, "release": "4.0"})
    recent, older = conformance_of(manifest), conformance_of(earlier)
    assert isinstance(recent, ConformanceKernel)
    assert isinstance(older, ConformanceKernel)
    judged = recent(made.columns)
    assert judged.violations == []
    assert sum(judged.undecided.values()) < 10
    misfits = older(made.columns).violations
    assert len(misfits) > 100
    assert all("take_over needs number = " in misfit.told for misfit in misfits)


@pytest.mark.parametrize("protocol", list(FOLLOWED))
def test_every_right_variant_with_histories_holds(protocol: str) -> None:
    """All that are told are in the lists above, or hold too."""
    reported = {variant.name: variant.main for variant in reported_variants(protocol)}
    assert set(FOLLOWED[protocol]) <= reported.keys()
    for name in (name for name, main in reported.items() if main and name not in FOLLOWED[protocol]):
        manifest, made = runs(f"{protocol}/{name}", 1_000)
        assert violating(manifest, made.columns) == {}, name
        assert not any(runs.any() for runs in made.broken.values()), name


@pytest.mark.parametrize("name", tried(list(EXACT)))
def test_what_breaks_in_the_model_is_found_in_its_histories(name: str) -> None:
    """In exactly those in which it broke, and there are some."""
    manifest, made = runs(name, MANY.get(name, 4_000))
    found = violating(manifest, made.columns)
    for promise, check in EXACT[name].items():
        broken = set(np.flatnonzero(made.broken[promise]).tolist())
        assert broken, promise
        assert found.get(check, set()) == broken, promise


@pytest.mark.parametrize(
    "name",
    [
        "id-blocks/kraft-answer-first", "id-blocks/bridge-from-last-id", "task-counts/core-no-check-after",
        "group-fencing/unstable-fetch",
    ],
)  # fmt: skip
def test_a_rule_misread_shows_against_the_model_as_it_should_be(name: str) -> None:
    """Each run that breaks a promise by it takes a step that the right model does not have; others need not."""
    manifest, made = runs(name, 2_500)
    kernel = conformance_of(manifest)
    assert isinstance(kernel, ConformanceKernel)
    misfits = {violation.history for violation in kernel(made.columns).violations}
    broken = set(np.flatnonzero(np.logical_or.reduce(list(made.broken.values()))).tolist())
    assert broken
    assert broken <= misfits
    assert len(misfits) < 2_500


@pytest.mark.parametrize("name", tried(list(WITHIN)))
def test_what_breaks_is_among_what_is_found(name: str) -> None:
    """Where the history property is the stricter one, no run that breaks the promise is missed."""
    manifest, made = runs(name, 8_000)
    found = violating(manifest, made.columns)
    for promise, check in WITHIN[name].items():
        broken = set(np.flatnonzero(made.broken[promise]).tolist())
        assert broken, promise
        assert broken <= found[check]


def test_a_late_copy_of_the_marker_before_leaves_the_answer() -> None:
    """In v2 a marker has the epoch of the transaction that follows (KAFKA-18654): right runs in which it comes again,
    between the answer to that one's question and its first record, are those that would violate with verification
    alone, where it may be any transaction's."""
    manifest, made = runs("transactions/v2", 4_000, clients=1, epochs=8)
    assert violating(manifest, made.columns) == {}
    answered, came_again = dict[int, tuple[int, bool]](), set[int]()
    rows = zip(*(made.columns[name].tolist() for name in ("history", "kind", "epoch")), strict=True)
    for history, kind, epoch in rows:
        if kind == Kind.partition_checked:
            answered[history] = epoch, False
        elif kind == Kind.marker_appended and answered.get(history) == (epoch, False):
            answered[history] = epoch, True
        elif kind == Kind.batch_appended and answered.get(history) == (epoch, True):
            came_again.add(history)
    verified = msgspec.structs.replace(manifest, config={**manifest.config, "mode": "v1-verified"})
    assert violating(verified, made.columns)["appended_while_added"] == came_again
    assert len(came_again) > 100


def test_what_a_fenced_client_hears_says_less_than_that_it_stops() -> None:
    """v1 breaks `alone_never_fenced` by INVALID_TXN_STATE, which tells of no fence, so that histories show no such."""
    manifest, made = runs("transactions/v1", 4_000)
    broken = made.broken["alone_never_fenced"]
    assert broken.any()
    assert "lone_client_never_fenced" not in violating(manifest, made.columns)
    columns = made.columns
    reported = columns["error"][(columns["kind"] == 13) & broken[columns["history"]]]
    assert set(reported.tolist()) <= {48, 90}
    by_history = {int(h) for h in columns["history"][(columns["kind"] == 13) & (columns["error"] == 48)]}
    assert set(np.flatnonzero(broken).tolist()) <= by_history


@pytest.mark.parametrize(
    "name",
    ["id-blocks/kraft-snapshot-of-block", "transactions/v1", "task-counts/core-A", "group-fencing/new-protocol"],
)
def test_steps_are_the_models(name: str) -> None:
    """What is enabled, what a step changes and what it breaks is as it is evaluated of one state at a time."""
    manifest, _ = runs(name, 1)
    kernels = kernels_for(manifest.config)
    made, count = kernels.ground, 12
    fields = [np.full(count, v, dtype_of(f)) for f, v in zip(made.layout.fields, made.initial, strict=True)]
    kept = {n: np.full((most, count), none, np.int32) for n, (most, none) in kernels.noted.items()}
    counters = {n: np.full(count, begin, np.int32) for n, begin in kernels.first.items()}
    enabled = np.zeros((len(kernels.steps), count), bool)
    rng, rows, taken = np.random.default_rng(4), Rows(count), set[str]()
    for _ in range(25):
        broken = np.zeros((len(made.always) + len(made.steps), count), bool)
        kernels.choose(fields, enabled, broken)
        states = [[int(column[run]) for column in fields] for run in range(count)]
        for run, state in enumerate(states):
            assert enabled[:, run].tolist() == _truths([s.instance.enabled for s in kernels.steps], state)
            assert (~broken[: len(made.always), run]).tolist() == _truths(list(made.always.values()), state)
            if not enabled[:, run].any():
                continue
            number = int(rng.choice(np.flatnonzero(enabled[:, run])))
            instance = kernels.steps[number].instance
            taken.add(instance.action)
            kernels.takes[number](fields, kept, counters, np.array([run]), rows.show, broken)
            after = list(state)
            for (index, _), value in zip(
                instance.updates, evaluate([n for _, n in instance.updates], state), strict=True
            ):
                after[index] = int(value)
            assert [int(column[run]) for column in fields] == after, instance.event
            stored_so = _truths([made.after(step, instance) for step in made.steps], state)
            assert (~broken[len(made.always) :, run]).tolist() == stored_so
    assert len(taken) > 8


def _truths(nodes: list[Node], state: list[int]) -> list[bool]:
    return [bool(value) for value in evaluate(nodes, state)]


def test_every_action_is_as_likely_and_then_every_choice_of_its_parameters() -> None:
    """At the beginning of kraft's runs: which broker asks by which request, restarts, or is fenced by a new leader."""
    manifest, _ = runs("id-blocks/kraft", 1)
    made = runs_of(5, 0, 30_000, {**manifest.config, "steps": 1})
    shares = {action: count / 30_000 for action, count in made.taken.items() if count}
    assert set(shares) == {"ask", "restart", "register", "fail_over"}
    assert all(abs(shares[action] - 1 / 3) < 0.01 for action in ("ask", "restart", "fail_over"))
    asked = made.columns["kind"] == 3
    assert abs(np.mean(made.columns["broker"][asked] == 0) - 1 / 2) < 0.015


def test_what_is_drawn_is_of_the_history_and_the_step() -> None:
    """Pinned, so that a manifest's seed makes the same histories in any later version."""
    high, low = drawn(seeds_of(1, 0, 3), 0)
    again, _ = drawn(seeds_of(1, 2, 1), 0)
    assert again[0] == high[2]
    assert (high.tolist(), low.tolist()) == PINNED


PINNED = ([3742372852, 3890006685, 90443881], [3178726943, 199381854, 3089837925])


@pytest.mark.parametrize("name", ["id-blocks/kraft", "task-counts/core-B"])
def test_histories_do_not_depend_on_the_others(name: str) -> None:
    """Made in three parts they are the same."""
    manifest, whole = runs(name, 90)
    parts = [runs_of(1, first, 30, manifest.config).columns for first in (0, 30, 60)]
    for column, values in whole.columns.items():
        assert np.array_equal(values, np.concatenate([part[column] for part in parts])), column


def test_the_same_files_however_they_are_made(tmp_path: Path) -> None:
    """One process, two, and Spark write the same bytes (starts Spark: about 10 s)."""
    entry = protocols()["id-blocks"]
    reported = config(entry, entry.variant("kraft-answer-first"), 12)
    ways = {"one": {"cores": 1}, "two": {"cores": 2}, "spark": {"spark": SparkSettings("local[2]")}}
    made = {
        way: generate(
            tmp_path / way, SIMULATOR, histories=100_000, seed=3, config=reported, protocol="id-blocks",
            variant="kraft-answer-first", many=True, source="model", **how,
        )
        for way, how in ways.items()
    }  # fmt: skip
    assert made["one"] == made["two"] == made["spark"]
    assert len(made["one"].files) == 2
    assert made["one"].source == "model"
    for file in made["one"].files:
        read = [(tmp_path / way / file.name).read_bytes() for way in ways]
        assert read[0] == read[1] == read[2]
    assert file.row_groups < 3
    assert 0 < made["one"].broken["disjoint_blocks"] < 100_000


def test_on_the_command_line(tmp_path: Path) -> None:
    """The manifest says what broke in how many, and replay finds as many."""
    ran = fencepost("generate", "id-blocks/kraft-snapshot-of-block", tmp_path / "made", "--from", "model",
                    "--histories", 2_000, "--seed", 1, "--json", tmp_path / "report.json")  # fmt: skip
    assert ran.code == 0
    report, manifest = read_json(tmp_path / "report.json"), json.loads((tmp_path / "made/manifest.json").read_text())
    assert report["broken"] == manifest["broken"]
    assert manifest["config"]["bounds"]["ids"] == 2
    assert (manifest["source"], manifest["variant"]) == ("model", "kraft-snapshot-of-block")
    assert f"persisted once               broke in {report['broken']['persisted_once']} histories" in ran.out
    replayed = fencepost("replay", tmp_path / "made", "--json", tmp_path / "replay.json")
    assert replayed.code == 1
    found = read_json(tmp_path / "replay.json")["violations"]
    assert found["blocks_disjoint"]["count"] == report["broken"]["persisted_once"] > 0


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("id-blocks/by-broker-id", "--from", "model"), "does not say what the steps of Uncoordinated show"),
        (("group-fencing/late-copies", "--from", "model"), "which copy of a commit arrives"),
        (("source-offsets/text-merged-view", "--from", "model"), "no histories are made of its model"),
        (("id-blocks/bridge", "--from", "model", "--bound", "controllers=2"), "one controller at a time"),
        (("transactions/v2", "--from", "model", "--bound", "epochs=12"), "last=12 or more"),
        (("id-blocks/kraft", "--from", "model", "--config", "events=4"), "--config is of the reference"),
        (("id-blocks/kraft", "--bound", "ids=4"), "--bound is of a model"),
        (("id-blocks/kraft", "--steps", "4"), "--steps is of a model"),
        (("id-blocks/zookeeper", "--from", "model", "--histories", "9" * 15), "ask for fewer, or name --master"),
    ],
)
def test_refusals_are_one_line(tmp_path: Path, arguments: tuple[str, ...], why: str) -> None:
    ran = fencepost("generate", arguments[0], tmp_path / "made", *arguments[1:])
    assert ran.code == 2
    assert why in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert not (tmp_path / "made").exists()


def test_what_has_no_history_says_why() -> None:
    refused = dict(refused_variants())
    assert len(refused) > 20
    assert all(why.startswith(f"{name}: its model cannot be told as a history: ") for name, why in refused.items())
    reported = set(chain.from_iterable((f"{p}/{v.name}" for v in reported_variants(p)) for p in FOLLOWED))
    assert not reported & refused.keys()

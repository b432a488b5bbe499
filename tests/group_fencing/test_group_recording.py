"""Live runs of the copying application are recorded as histories. One with faults is clean, the mistakes of the other
are named, and each decidable property notices an edit that breaks it, and no skew of clocks."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from copying_logs import CopyingLogs, another_producer
from fencepost.proofs.recording.group_fencing.member_events import Header, Member, Seen
from fencepost.proofs.recording.group_fencing.offsets_log import Logged, OffsetsLog
from fencepost.proofs.recording.group_fencing.ordering import in_order
from fencepost.proofs.scale.replay import replay
from fencepost.proofs.scale.units import SparkSettings
from fencepost.properties.group_fencing.events import Kind
from transaction_logs import batch, marker, write_log

OF_CLIENTS = {"nothing_twice", "nothing_skipped", "offsets_agree", "everything_copied", "no_other_error_ends_it"}
DECIDABLE = OF_CLIENTS | {"one_producer_commits", "newest_owner_commits", "stale_never_commits"}
SECOND_US = 1_000_000
HOUR_US = 3_600 * SECOND_US


@pytest.fixture
def under_fire(tmp_path: Path) -> CopyingLogs:
    """Return the logs of a classic group whose members were paused, stopped, killed and left."""
    return CopyingLogs("classic", tmp_path)


@pytest.fixture
def left_out(tmp_path: Path) -> CopyingLogs:
    """Return the logs of a zombie that omits its group's metadata from the offsets that it sends."""
    return CopyingLogs("left-out", tmp_path)


def test_a_run_under_fire_is_clean(under_fire: CopyingLogs) -> None:
    recorded, report = under_fire.record(), under_fire.replay()
    assert set(recorded.decidable) == DECIDABLE
    assert report.violations == {} and all(
        report.judged[name]
        for name in DECIDABLE - {"no_other_error_ends_it"}  # none was ended by an error
    )
    assert recorded.counts["paused"] and recorded.counts["generation_begun"] > 5
    assert recorded.counts["txn_begun"] * 2 > recorded.counts["offset_taken"]  # of two partitions: some were in vain
    assert recorded.counts["offset_taken"] == recorded.counts["offset_settled"]
    assert (recorded.manifest.variant, recorded.manifest.source) == ("shipped", "recorded")


def test_spark_says_the_same(under_fire: CopyingLogs) -> None:
    assert under_fire.replay() == replay(under_fire.folder / "out", spark=SparkSettings("local[1]"))


def test_what_leaves_the_metadata_out_copies_twice(left_out: CopyingLogs) -> None:
    """Each duplicate's cause is an older owner that committed after the newer one had consumed."""
    report = left_out.replay()
    assert {name: found["count"] for name, found in report.violations.items()} == {
        "nothing_twice": 12, "newest_owner_commits": 2,
    }  # fmt: skip
    reported = report.violations["newest_owner_commits"]["first"].told
    assert "it was consumed in a newer generation by consumed" in reported and "generation 2" in reported


def test_without_logs_the_output_is_judged(left_out: CopyingLogs) -> None:
    assert set(left_out.record(with_log=False).decidable) == OF_CLIENTS
    assert replay(left_out.folder / "out", cores=1).violations.keys() == {"nothing_twice"}


# Edits


def copied_again(logs: CopyingLogs) -> None:
    last = logs.of("output_read", partition=0)[-1]
    logs.lines.append({**logs.of("output_read", partition=0, offset=7)[0], "position": last["position"] + 1})


def lost(logs: CopyingLogs) -> None:
    logs.lines.remove(logs.of("output_read", partition=1, offset=11)[0])


def last_one_lost(logs: CopyingLogs) -> None:
    logs.lines.remove(logs.of("output_read", partition=1)[-1])


def offset_too_low(logs: CopyingLogs) -> None:
    logs.of("audited", partition=0)[0]["offset"] -= 1


def more_to_copy(logs: CopyingLogs) -> None:
    logs.header["inputs"] = [
        [topic, partition, first, end + 1] for topic, partition, first, end in logs.header["inputs"]
    ]


def of_a_former_generation(logs: CopyingLogs) -> None:
    line = [line for line in logs.of("offset_sent") if line["generation"] > 2][5]
    line["generation"] -= 1


def of_a_former_owner(logs: CopyingLogs) -> None:
    logs.of("consumed", partition=0)[0]["generation"] = 1_000


def never_settled(logs: CopyingLogs) -> None:
    for place in logs.markers()[:-2]:
        logs.patch(place, another_producer)


def ended_for_nothing(logs: CopyingLogs) -> None:
    logs.of("instance_stopped")[-1].update(kind="instance_failed", error=-1)


EDITS: dict[Callable[[CopyingLogs], None], set[str]] = {
    copied_again: {"nothing_twice"},
    lost: {"nothing_skipped"},
    last_one_lost: {"offsets_agree"},
    offset_too_low: {"offsets_agree", "everything_copied"},
    more_to_copy: {"everything_copied"},
    of_a_former_generation: {"stale_never_commits"},
    of_a_former_owner: {"newest_owner_commits"},
    never_settled: {"one_producer_commits"},
    ended_for_nothing: {"no_other_error_ends_it"},
}


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_an_edit_is_found(under_fire: CopyingLogs, edit: Callable[[CopyingLogs], None]) -> None:
    edit(under_fire)
    assert under_fire.replay().violations.keys() == EDITS[edit]


def test_every_decidable_property_is_broken_by_an_edit() -> None:
    assert set().union(*EDITS.values()) == DECIDABLE


# Clocks, and order


@pytest.mark.parametrize("name", ["classic", "left-out"])
@pytest.mark.parametrize("bound_us", [None, SECOND_US, HOUR_US])
def test_no_clock_accuses_or_acquits(tmp_path: Path, name: str, bound_us: int | None) -> None:
    """Clocks of members may differ from the brokers' by the bound in the header, or by any amount if there is none."""
    logs = CopyingLogs(name, tmp_path)
    found = logs.replay().violations.keys()
    chance = random.Random(1)
    logs.header["clock_error_us"] = bound_us
    most = HOUR_US if bound_us is None else bound_us
    times = [(line, line["time_us"]) for line in logs.lines[1:]]
    for _ in range(3):
        by = {client: chance.randrange(-most, most + 1) for client in {line.get("client") for line, _ in times}}
        for line, time_us in times:
            line["time_us"] = time_us + by[line.get("client")]
        assert logs.replay().violations.keys() == found


@pytest.mark.parametrize(("bound_us", "before"), [(None, False), (2_000, False), (1_999, True), (0, True)])
def test_a_bound_on_clocks_tells_what_happened_before(bound_us: int | None, before: bool) -> None:
    """A record consumed 2 ms before a commit counts as earlier, but an action about to happen may be late."""
    consumed = {"kind": Kind.consumed, "time_us": 7_000, "partition": 0, "offset": 0, "generation": 2, "client": 0}
    about_to = {"kind": Kind.txn_begun, "time_us": 7_000, "client": 0, "producer_id": -1}
    taken = {"kind": Kind.offset_taken, "time_us": 9_000, "partition": 0, "offset": 1, "producer_id": 3, "epoch": 0}
    header = Header(group="g", inputs=(("t", 0, 0, 2),), clock_error_us=bound_us)
    seen = Seen(header, (Member("a", [consumed, about_to], ["a/0", "a/1"]),), [], {})
    ordered = in_order(seen, OffsetsLog([Logged(taken, "b/1")]))
    assert ordered.strangers == 1
    assert ordered.rows == ([consumed, taken, about_to] if before else [taken, consumed, about_to])


def test_the_order_keeps_to_what_is_known(under_fire: CopyingLogs) -> None:
    """The order respects each client's order, the log's, and that offsets are sent before they are accepted."""
    names = under_fire.record().manifest.config["names"]["client"]
    rows = pq.read_table(under_fire.folder / "out" / "part-00000.parquet").to_pylist()
    for number, name in enumerate(names):
        mine = [line for line in under_fire.lines if line.get("client") == name]
        observed = [row for row in rows if row["client"] == number]
        assert [(Kind(row["kind"]).name, row["time_us"]) for row in observed] == [
            (line["kind"], line["time_us"]) for line in mine
        ]
    log = [row["time_us"] for row in rows if row["client"] < 0 and row["output"] < 0 and row["kind"] != Kind.audited]
    assert log == sorted(log)
    sent = set()
    for row in rows:
        what = tuple(row[name] for name in ("producer_id", "epoch", "partition", "offset", "generation", "member"))
        if row["kind"] == Kind.offset_sent:
            sent.add(what)
        elif row["kind"] == Kind.offset_taken:
            assert what in sent
    assert len([what for what in sent if what[0] >= 0]) == sum(row["kind"] == Kind.offset_taken for row in rows)


# What cannot be decided


def undecidable(logs: CopyingLogs) -> dict[str, str]:
    """Return the reasons why properties that a full recording decides are undecidable here."""
    return {name: why for name, why in logs.record().undecidable.items() if name in DECIDABLE}


def test_a_commit_of_nobody_decides_nothing_of_owners(under_fire: CopyingLogs) -> None:
    under_fire.lines = [line for line in under_fire.lines if line.get("client") != "b-1"]
    found = undecidable(under_fire)
    assert found.keys() == {"newest_owner_commits", "stale_never_commits"}
    assert "are of no member that is recorded" in found["newest_owner_commits"]


def test_who_does_not_know_its_generation_accuses_nobody(under_fire: CopyingLogs) -> None:
    del under_fire.of("consumed")[3]["generation"]
    assert undecidable(under_fire) == {
        "newest_owner_commits": "a member could not tell in which generation it was handed 1 records"
    }


def test_several_outputs_have_no_order(under_fire: CopyingLogs) -> None:
    for line in under_fire.of("output_read", partition=1)[3:]:
        line["output"] = 2
    assert undecidable(under_fire).keys() == {"nothing_skipped"}


def test_what_is_pending_is_no_quiet_end(under_fire: CopyingLogs) -> None:
    under_fire.patch(under_fire.markers()[-3], another_producer)
    recorded = under_fire.record()
    assert any("are pending in transactions that have not ended" in note for note in recorded.notes), recorded.notes
    assert undecidable(under_fire).keys() == {"offsets_agree", "everything_copied"}


def test_a_cleaned_log_shows_nothing_of_which_all_is_there(under_fire: CopyingLogs) -> None:
    under_fire.cut(20)
    recorded = under_fire.record()
    assert set(recorded.decidable) == OF_CLIENTS
    (note,) = [note for note in recorded.notes if "is compacted" in note]
    assert note.startswith("__consumer_offsets-0 is compacted between offsets ")
    assert f"nothing is left of what it needs: {note}" in recorded.undecidable.values()


def test_partitions_of_other_sizes_have_no_common_end(under_fire: CopyingLogs) -> None:
    under_fire.header["inputs"][0][3] += 1
    assert undecidable(under_fire).keys() == {"everything_copied"}


def test_an_input_with_gaps_hides_what_is_left_out(under_fire: CopyingLogs) -> None:
    """The log of the input, if present, decides whether each offset is a record: once with 48 records, and once with a
    marker among them."""
    node = under_fire.folder / "logs" / "node-1"
    full = batch(0, [(None, b"x")] * 48)
    for partition in (0, 1):
        write_log(node, f"fire-classic-in-{partition}", [full])
    assert undecidable(under_fire) == {}
    parts = [batch(0, [(None, b"x")] * 40), marker(40, (7, 0), True), batch(41, [(None, b"x")] * 7)]
    write_log(node, "fire-classic-in-1", parts)
    found = undecidable(under_fire)
    assert found.keys() == {"nothing_skipped", "offsets_agree", "everything_copied"}
    assert found["nothing_skipped"].startswith("fire-classic-in-1 has 47 records from offset 0 to 48")


def test_a_recording_may_begin_later(under_fire: CopyingLogs) -> None:
    """A recording that begins at offset 9 of both partitions leaves out what came before, and nothing is missing."""
    for place in under_fire.header["inputs"]:
        place[2] = 9
    for line in under_fire.of("consumed", "output_sent", "output_read"):
        if line["offset"] < 9:
            under_fire.lines.remove(line)
    for line in under_fire.of("offset_sent", "offset_fetched"):
        if line["offset"] <= 9:
            under_fire.lines.remove(line)
    recorded, report = under_fire.record(), under_fire.replay()
    assert "6 offsets that are not behind the first of the input are left out" in recorded.notes
    assert set(recorded.decidable) == DECIDABLE and report.violations == {}
    assert report.judged["everything_copied"] == 2 and report.judged["nothing_twice"] == 2 * (48 - 9)

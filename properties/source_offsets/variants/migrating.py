"""An offsets topic of a connector's own: merged with the global one (618.31), filled from it as the earlier text has it
(618.30, 618.45), and found again after a downgrade (618.36); and what goes wrong."""

from collections.abc import Mapping

from fencepost.model.releases import TEXT
from fencepost.properties.entries import Scenario, Variant
from fencepost.properties.source_offsets.claims.migrating import (
    DowngradingLemmas,
    FencedLatePromises,
    MergedLemmas,
    MigratingLemmas,
)
from fencepost.properties.source_offsets.variants.reading import DEPTH, wrong

MERGED = dict(partitions=2, records=3, stops=1)
MIGRATING = dict(partitions=2, records=2, stops=1, workers=2, rebalances=1, crashes=1)
THREE = dict(MIGRATING, records=3, workers=3, rebalances=2)
RACE = dict(MIGRATING, partitions=1, records=3, crashes=0)
DOWNGRADING = dict(partitions=2, records=3, stops=2, downgrades=1)
REASONS: Mapping[str, str] = {
    "partitions": "one that has an offset here, and one that has it there alone; one that is copied, and one to be",
    "records": "one stored before, and one after; a third one behind an offset that was gone back to",
    "stops": "tasks that run, and those after them; after a downgrade again",
    "workers": "an owner that goes on late, and the one after it",
    "rebalances": "the Connector is given to another worker once",
    "crashes": "an owner that is gone with its copy",
    "downgrades": "one, and the upgrade after it",
}
RESUMES, OLDER, GROWS, BEGINS = "resumes_in_step", "older_in_step", "separate_only_grows", "begins"

VARIANTS = (
    Variant(
        "merged-at-the-start", MergedLemmas,
        "a connector gets an offsets topic of its own: its tasks see both topics as one, and nothing is moved",
        bounds={"smoke": MERGED}, depth=DEPTH, of=TEXT,
    ),
    Variant(
        "migration-sentinel", MigratingLemmas,
        "the earlier text, with what it lacks: the owner's producer is opened before the look, and has a transactional "
        "id; the global topic is read when the tasks before are fenced",
        bounds={"smoke": MIGRATING, "nightly": THREE}, progress_bounds=(RACE,), depth=DEPTH, of=TEXT,
    ),
    wrong("migration-race", MigratingLemmas,
          "the earlier text as it is: two owners find the topic empty, and the later copy is over newer offsets",
          "618.45", RACE, RESUMES, GROWS, reading=("618.45", "by_whomever"), of=TEXT),
    wrong("migration-fenced-late", FencedLatePromises,
          "the owner's producer is opened when the topic was found empty, and it is not empty any more", "618.45", RACE,
          RESUMES, GROWS, of=TEXT),
    wrong("copied", MigratingLemmas,
          "all offsets are copied over as the Connector starts, when tasks still store in the global topic: the merged "
          "view has what they store later", "618.39", MIGRATING, RESUMES, reading=("618.30", "over_running_tasks"),
          of=TEXT),
    wrong("migration-piecemeal", MigratingLemmas,
          "offsets are copied without a transaction: an owner that is gone leaves a part, which is taken for all",
          "618.30", MIGRATING, RESUMES, reading=("618.30", "each_by_itself"), of=TEXT),
    wrong("migration-not-waited-for", MigratingLemmas, "tasks begin before the topic is filled", "618.45", MIGRATING,
          RESUMES, reading=("618.45", "not_waited_for"), of=TEXT),
    wrong("migration-without-sentinel", MigratingLemmas,
          "where nothing is to be copied nothing is written, and tasks wait for ever", "618.30", RACE, BEGINS,
          reading=("618.30", "no_sentinel"), progress_bounds=(RACE,), of=TEXT),
    Variant(
        "downgrade-and-back", DowngradingLemmas,
        "the old software with the global topic, and then the new one when the separate topic is deleted",
        bounds={"smoke": DOWNGRADING}, progress_bounds=(DOWNGRADING,), depth=DEPTH, of=TEXT,
    ),
    wrong("stale-topic", DowngradingLemmas,
          "the separate topic is as it was before the downgrade, and wins: all since is repeated", "618.36",
          DOWNGRADING, RESUMES, reading=("618.36", "fence_older: guard 1 dropped"), of=TEXT),
    wrong("downgrade-before-copies", DowngradingLemmas,
          "a downgrade does not wait until offsets are in the global topic: the old software repeats what is missing",
          "618.36", DOWNGRADING, OLDER, reading=("618.36", "at_once"), of=TEXT),
)  # fmt: skip

SCENARIOS = (
    Scenario("two-migrations", "a stale copy of source offsets is written over newer ones (H8)", "migration-race",
             "migration-sentinel"),
    Scenario("copied-too-early", "tasks of the set before go on in the topic that was copied", "copied",
             "merged-at-the-start"),
    Scenario("upgraded-again", "an offsets topic of before a downgrade has the last word", "stale-topic",
             "downgrade-and-back"),
)  # fmt: skip

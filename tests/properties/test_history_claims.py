"""A directory of histories is written by one run at a time, never over another, and nothing of a run that did not come
to its end stays."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import SCRIPT, clean_environment, fencepost, read_json
from fencepost.properties.history import HistoryError, write_histories
from fencepost.properties.history.claiming import claimed
from fencepost.properties.history.location import Location
from fencepost.properties.id_blocks.events import ID_BLOCKS
from fencepost.properties.id_blocks.histories import SEEDED_HISTORY
from metadata_logs import real_logs

KRAFT = "id-blocks/kraft"
LEFT = f"part-00000.attempt-{'a1' * 16}.parquet"


def test_histories_that_stand_are_not_written_over(tmp_path: Path) -> None:
    """Neither by `write_histories`, nor by `record`, nor by `generate`."""
    place = tmp_path / "h"
    write_histories(place, [SEEDED_HISTORY.seeded(1, 0, 2)[0]], ID_BLOCKS)
    before = {file.name: file.read_bytes() for file in place.iterdir()}
    with pytest.raises(HistoryError, match="holds histories already"):
        write_histories(place, [SEEDED_HISTORY.seeded(2, 0, 2)[0]], ID_BLOCKS)
    nodes = real_logs(tmp_path)
    for words in (["record", *nodes, "--out", place], ["generate", KRAFT, place, "--histories", 2]):
        ran = fencepost(*words)
        assert (ran.code, "holds histories already; remove it, or name another" in ran.err) == (2, True)
    assert {file.name: file.read_bytes() for file in place.iterdir()} == before


def test_one_at_a_time(tmp_path: Path) -> None:
    """While another process has it, a directory is refused; with that process the claim goes."""
    place = tmp_path / "h"
    program = f"""
import sys, time
from fencepost.properties.history.claiming import claimed
from fencepost.properties.history.location import Location
with claimed(Location.of({str(place)!r})):
    print("claimed", flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "claimed\n"
        ran = fencepost("generate", KRAFT, place, "--histories", 2)
        assert (ran.code, "another run is writing histories into it; wait for it" in ran.err) == (2, True)
        (place / LEFT).touch()
        other.kill()
    assert fencepost("generate", KRAFT, place, "--histories", 2, "--config", "events=50").code == 0
    assert sorted(file.name for file in place.iterdir()) == ["manifest.json", "part-00000.parquet"]
    assert fencepost("replay", place, "--cores", 1).code == 0


def test_what_is_not_finished_goes_away(tmp_path: Path) -> None:
    """With the directory, if it was made for it; what else lies in a directory stays."""
    place = Location.of(tmp_path / "deep" / "h")

    def broken_off() -> None:
        with claimed(place):
            for name in (LEFT, "part-00000.parquet"):
                place.open_output(name).close()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert list((tmp_path / "deep").iterdir()) == []
    (tmp_path / "deep" / "h").mkdir()
    (tmp_path / "deep" / "h" / "notes.txt").touch()
    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert [file.name for file in (tmp_path / "deep" / "h").iterdir()] == ["notes.txt"]


def test_pieces_of_others_are_left_alone(tmp_path: Path) -> None:
    """A directory with data in it that no manifest lists is no place for histories."""
    (tmp_path / "part-00000.parquet").write_bytes(b"data of another program")
    ran = fencepost("generate", KRAFT, tmp_path, "--histories", 2)
    assert (ran.code, "part-00000.parquet: stands there without a manifest; remove it" in ran.err) == (2, True)
    assert (tmp_path / "part-00000.parquet").read_bytes() == b"data of another program"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_generate_leaves_nothing(how: signal.Signals, tmp_path: Path) -> None:
    """Within two seconds, by either signal; the report says that there are no histories."""
    words = ["generate", "transactions/v2", "made", "--histories", "100000", "--json", "g.json"]
    with subprocess.Popen(
        [SCRIPT, *words], cwd=tmp_path, env=clean_environment(), stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as running:  # fmt: skip
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("made/*.attempt-*")) and time.monotonic() < deadline:
            time.sleep(0.1)
        began = time.monotonic()
        os.kill(running.pid, how)
        assert running.wait(30) == 130
        assert time.monotonic() - began < 2.5
    assert sorted(file.name for file in tmp_path.iterdir()) == ["g.json"]
    report = read_json(tmp_path / "g.json")
    assert (report["interrupted"], report["histories"], report["events"]) == (True, 0, 0)

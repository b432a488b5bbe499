"""Jobs: results in processes of their own and in this one, refusals, workers that are killed, work that is given up.

Each of these processes imports this file, which therefore imports little: what records, or starts Spark, takes seconds.
"""

import gc
import importlib
import multiprocessing
import os
import pickle
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.processors import MADE_BETWEEN
from fencepost.proofs.scale.jobs import Jobs


def sum_of(numbers: list[int]) -> int:
    return sum(numbers)


def process_id(_: int) -> int:
    return os.getpid()


def refuse(number: int) -> int:
    raise ValueError(f"{number} is refused")


def die(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave(code: int) -> None:
    os._exit(code)


def die_first(mark: Path) -> int:
    """Unless that is there already."""
    if not mark.exists():
        mark.touch()
        die(0)
    return os.getpid()


@pytest.mark.parametrize("cores", [1, 2])
def test_results_come_as_asked_on_any_number_of_cores(cores: int) -> None:
    """Also of a job that no other process could be handed."""
    with Jobs(3, cores) as jobs:
        answers = [jobs.hand_in(sum_of, [n, n]) for n in range(20)]
        here = jobs.hand_in(lambda values: sum(values()), lambda: [1, 2, 3])
        assert [answer() for answer in reversed(answers)] == [2 * n for n in reversed(range(20))]
        assert here() == 6
        with pytest.raises(ValueError, match="7 is refused"):
            jobs.hand_in(refuse, 7)()


def test_only_what_travels_leaves_this_process() -> None:
    """With two cores a job is done elsewhere; one that names what others cannot import is done here."""
    with Jobs(2, 2) as jobs:
        assert jobs.hand_in(process_id, 0)() != os.getpid()
        assert jobs.hand_in(process_id, 0, travels=False)() == os.getpid()


def thresholds(_: int) -> tuple[int, int, int]:
    return gc.get_threshold()


def test_processes_collect_garbage_as_seldom_as_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them, also the one that does again what was lost; this one stays as it is."""
    before = gc.get_threshold()
    with Jobs(2, 2) as jobs:
        assert jobs.hand_in(thresholds, 0)() == MADE_BETWEEN
        with pytest.raises(ChildProcessError):
            jobs.hand_in(die, 0)()
        assert jobs.hand_in(thresholds, 0)() == MADE_BETWEEN
    assert gc.get_threshold() == before


class Odd(Exception):
    """Which cannot be made again from what it is pickled as."""

    def __init__(self, one: int, other: int) -> None:
        super().__init__(f"{one} is not {other}")


def refuse_oddly(number: int) -> int:
    raise Odd(number, number + 1)


def refuse_input(number: int) -> int:
    raise InputError(f"line {number} is no line")


def test_errors_of_input_come_out_of_a_process_as_they_were(tmp_path: Path) -> None:
    """Also those that make their message from several arguments."""
    from fencepost.proofs.recording.errors import RecordingError

    error = RecordingError("is cut off", tmp_path / "0.log", "copy it again", 17)
    error.add_note("as it was read")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is RecordingError and str(again) == str(error)
    assert str(again) == f"{tmp_path}/0.log byte 17: is cut off; copy it again" and again.__notes__ == error.__notes__


def test_tasks_of_spark_give_what_processes_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order asked, errors of their kinds with where they were raised, and what does not travel is done here;
    answers of earlier runs are looked up and kept by the process that asks."""
    from fencepost.proofs.scale.spark import session
    from fencepost.proofs.scale.units import SparkSettings
    from fencepost.proofs.verdict_cache import Earlier, Key, hand_in

    reported = list[int]()
    monkeypatch.setattr("fencepost.proofs.verdict_cache.cache_folder", lambda: tmp_path)
    settings = SparkSettings("local[2]")
    with session(settings) as spark, Jobs(8, 1, lambda: reported.append(1), settings) as jobs:
        answers = [jobs.hand_in(sum_of, [n, n]) for n in range(20)]
        assert jobs.hand_in(process_id, 0)() not in (os.getpid(), jobs.hand_in(process_id, 0, travels=False)())
        assert jobs.hand_in(lambda values: sum(values()), lambda: [1, 2, 3])() == 6
        assert [answer() for answer in reversed(answers)] == [2 * n for n in reversed(range(20))]
        with pytest.raises(ValueError, match=r"^7 is refused") as refused:
            jobs.hand_in(refuse, 7)()
        assert "in refuse" in refused.value.__notes__[0]
        with pytest.raises(InputError, match=r"^line 3 is no line"):
            jobs.hand_in(refuse_input, 3)()
        with pytest.raises(RuntimeError, match=r"^Odd: 1 is not 2"):
            jobs.hand_in(refuse_oddly, 1)()
        key = Key("q", "a", fresh=False)
        asked = hand_in(jobs, key, process_id, 0)
        assert asked() is asked() and asked().when is None and asked().answer != os.getpid()
        again: Earlier[int] = hand_in(jobs, key, process_id, 0)()
        assert (again.answer, again.when is None) == (asked().answer, False)
        assert len(reported) == 28
        with pytest.raises(KeyboardInterrupt), Jobs(8, spark=settings) as given_up:
            lost = given_up.hand_in(time.sleep, 300)
            time.sleep(1)
            raise KeyboardInterrupt
        with pytest.raises(InputError, match="Spark job failed"):
            lost()
        assert spark.sparkContext.parallelize([1], 1).count() == 1, "it ends the jobs, and no session of another"


def test_a_job_that_is_killed_each_time_is_named_and_others_are_done() -> None:
    """As when memory runs out: the others of the pool are lost too, and done once more by themselves."""
    with Jobs(2, 2) as jobs:
        lost, later = jobs.hand_in(die, 0, name="id-blocks/kraft"), jobs.hand_in(sum_of, [3, 4])
        with pytest.raises(ChildProcessError, match=r"id-blocks/kraft, was killed by SIGKILL, .* by itself, .* memory"):
            lost()
        assert later() == 7
        with pytest.raises(ChildProcessError, match=r"work, leave, was ended with exit code 3, .* os\._exit"):
            jobs.hand_in(leave, 3)()


def test_a_job_that_is_killed_once_is_done_once_more(tmp_path: Path) -> None:
    with Jobs(2, 2) as jobs:
        asked = jobs.hand_in(die_first, tmp_path / "died")
        assert asked() == asked() != os.getpid()


def test_what_a_worker_cannot_import_is_an_error_in_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that the language refuses, as it stands when the worker reads it, and what is no module there: no
    killed process, and no memory that ran out."""
    (tmp_path / "edited.py").write_text("def work(_: int) -> int:\n    return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    work = importlib.import_module("edited").work
    text = "from fencepost.model.language.checks.errors import mistake\nraise mistake('no such', 'write it')\n"
    (tmp_path / "edited.py").write_text(text)
    with Jobs(2, 2) as jobs, pytest.raises(InputError, match=r"edited.py:2: no such; write it$"):
        jobs.hand_in(work, 0)()
    (tmp_path / "edited.py").unlink()
    with Jobs(2, 2) as jobs, pytest.raises(InputError, match="a worker cannot import edited"):
        jobs.hand_in(work, 0)()


def test_the_process_that_was_begun_last_is_looked_after_too() -> None:
    """CPython's pool alone notices it with the next result only, an hour later here."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with Jobs(2, 2) as jobs:
            jobs.hand_in(time.sleep, 3600)
            time.sleep(0.5)  # the other process waits for work when it is begun
            with pytest.raises(ChildProcessError, match="was killed"):
                jobs.hand_in(die, 0)()
    finally:
        sys.setswitchinterval(before)


def test_work_that_nothing_waits_for_is_given_up() -> None:
    """At the end of the block, or where an error leaves it."""
    before = time.monotonic()
    with pytest.raises(KeyboardInterrupt), Jobs(8, 2) as jobs:
        for _ in range(8):
            jobs.hand_in(time.sleep, 300)
        raise KeyboardInterrupt
    while multiprocessing.active_children():
        assert time.monotonic() < before + 60
        time.sleep(0.05)


def killed_with(reported: Any) -> None:
    """Tells which processes it has begun, which wait for more work then, and is killed."""
    with Jobs(2, 2) as jobs:
        reported.send(sorted({jobs.hand_in(process_id, n)() for n in range(2)}))
        die(0)


def test_processes_end_with_a_parent_that_is_killed() -> None:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    parent = context.Process(target=killed_with, args=(there,))
    parent.start()
    begun = here.recv()
    parent.join()
    assert begun and parent.exitcode == -signal.SIGKILL
    until = time.monotonic() + 30
    while any(map(is_running, begun)):
        assert time.monotonic() < until, "it waits for work that will not be sent"
        time.sleep(0.05)


def is_running(number: int) -> bool:
    """Is there such a process, which is not over?"""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False

"""The plugin: one option adds an agreement test to any run, and without it there is nothing."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mock_cluster import MockCluster

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[3]
LOCK = ROOT / "tests" / "lock"
BROKEN = "fencepost.reference_impl.defects.id_blocks:answers_before_commit"
REFERENCE = "fencepost.reference_impl.systems.id_blocks:reference"


@pytest.fixture(autouse=True)
def prepared(monkeypatch):
    """What each run would make anew is kept: Hypothesis's table of Unicode (2 s), and its modules as pytest compiles
    them, with asserts of its own (1 s)."""
    monkeypatch.setenv("HYPOTHESIS_STORAGE_DIRECTORY", str(ROOT / ".hypothesis"))
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)


def test_silent_without_its_options(pytester):
    """A run that does not ask for it has its own tests only."""
    pytester.makepyfile("def test_own(): pass")
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_loading_it_is_cheap():
    """Loading the plugin imports no engine."""
    script = (
        "import sys, fencepost.proofs.pytest_plugin\n"
        "heavy = {'hypothesis', 'numpy', 'z3', 'pyarrow', 'fencepost.model', 'fencepost.properties'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_agreeing_implementation_passes(pytester):
    """The reference passes in both variants asked for, beside the run's own tests."""
    pytester.makepyfile("def test_own(): pass")
    result = pytester.runpytest_subprocess(
        f"--fencepost-implementation={REFERENCE}", "--fencepost-variant=kraft", "--fencepost-variant=zookeeper",
        "--fencepost-examples=5", "-v",
    )  # fmt: skip
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines([f"*agreement[[]{REFERENCE}-kraft[]]*PASSED*"])


def test_a_package_of_the_working_directory_is_found_by_its_name(pytester):
    """As commands find it, without a point in the name."""
    from fencepost.proofs.authoring.beginning import example

    folder = pytester.mkpydir("lease")
    for name, text in example("lease").items():
        (folder / name).write_text(text, encoding="utf-8")
    result = pytester.runpytest_subprocess(
        "--fencepost-protocol=lease", "--fencepost-implementation=lease.reference:reference", "--fencepost-examples=5"
    )
    result.assert_outcomes(passed=1)


def test_disagreeing_implementation_fails_with_its_program(pytester):
    """A broken one fails the run, with the event, the rule and the program, and without a traceback."""
    result = pytester.runpytest_subprocess(
        f"--fencepost-implementation={BROKEN}", "--fencepost-seed=3", "--fencepost-examples=20"
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*first bad event: answer_sent*", "*730.7*", "system = factory(*", "assert *"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_another_protocol(pytester):
    """Task counts have variants of their own, and those of id-blocks are none of them."""
    pytester.makepyfile("def test_own(): pass")
    asked = ("--fencepost-implementation=fencepost.reference_impl.systems.task_counts:reference",
             "--fencepost-protocol=task-counts", "--fencepost-examples=10", "-v")  # fmt: skip
    result = pytester.runpytest_subprocess(*asked, "--fencepost-variant=A")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*agreement[[]fencepost.reference_impl.systems.task_counts:reference-A[]]*PASSED*"])
    result = pytester.runpytest_subprocess(*asked, "--fencepost-variant=kraft")
    assert result.ret != 0
    result.stderr.fnmatch_lines(["*task-counts has no kraft; it has *"])


def test_what_no_run_took_fails_as_inconclusive(pytester):
    """Of a lock that never refuses a write one action is left, at which programs are aimed in vain."""
    shutil.copytree(LOCK, pytester.path / "lock", ignore=shutil.ignore_patterns("__pycache__", "kept"))
    pytester.makepyfile(
        careful="""
        from lock.reference import reference

        def factory(config):
            system = reference(config)
            write = system.write
            system.write = lambda client: bool(system.held[client] >= system.stored and write(client))
            return system
        """
    )
    asked = ("--fencepost-protocol=lock", "--fencepost-examples=5", "-p", "no:cacheprovider")
    result = pytester.runpytest_subprocess(*asked, "--fencepost-implementation=careful:factory")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["inconclusive: no run took refuse of the model, though 105 programs were driven"])
    result = pytester.runpytest_subprocess(*asked, "--fencepost-implementation=lock.reference:reference")
    result.assert_outcomes(passed=1)


def test_fixture_gives_the_report(pytester):
    """A test of one's own gets the report and decides for itself."""
    pytester.makepyfile(
        """
        def test_own(fencepost_agreement):
            assert fencepost_agreement.verdict == "violated"
            assert fencepost_agreement.failure.rules == ("730.7",)
        """
    )
    result = pytester.runpytest_subprocess(
        f"--fencepost-implementation={BROKEN}", "--fencepost-examples=20", "-k", "test_own"
    )
    result.assert_outcomes(passed=1, deselected=1)


def test_fixture_without_the_option(pytester):
    """Without an implementation the fixture says which option is missing."""
    pytester.makepyfile("def test_own(fencepost_agreement): pass")
    result = pytester.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*give --fencepost-implementation module:factory*"])


def test_brokers_are_driven(pytester):
    """Those that an option names: librdkafka's mock takes what a fenced producer writes, which the model does not."""
    with MockCluster() as cluster:
        where = cluster.bootstrap
        result = pytester.runpytest_subprocess(
            f"--fencepost-bootstrap={where}", "--fencepost-protocol=transactions", "--fencepost-variant=v1",
            "--fencepost-examples=10",
        )  # fmt: skip
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*agreement[[]{where}-v1[]]*", "*first bad event: *", "system = factory(*"])


def test_a_package_without_a_dot_and_what_the_project_configures(pytester):
    """A protocol of one's own next to the tests; its implementation is the project's, an option names the protocol."""
    shutil.copytree(LOCK, pytester.path / "lock", ignore=shutil.ignore_patterns("__pycache__", "kept"))
    pytester.makepyprojecttoml('[tool.fencepost]\nimplementation = "lock.reference:Unfenced"\n')
    pytester.makepyfile("def test_own(): pass")
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
    result = pytester.runpytest_subprocess("--fencepost-protocol=lock", "--fencepost-examples=40")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*agreement[[]lock.reference:Unfenced-fenced[]]*", "*lock.3*"])
    result = pytester.runpytest_subprocess(
        "--fencepost-protocol=lock", "--fencepost-implementation=lock.reference:reference", "--fencepost-examples=5"
    )
    result.assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("nope:factory",), "there is no implementation 'nope:factory'"),
        (("os:nope",), "there is no implementation 'os:nope'"),
        (("os:getcwd", "--fencepost-examples", "0"), "--fencepost-examples: at least one cluster is driven"),
    ],
)
def test_wrong_names_are_usage_errors(options: tuple[str, ...], text: str, tmp_path: Path) -> None:
    """pytest's own exit code for them, in a line, and no test fails."""
    (tmp_path / "test_mine.py").write_text("def test_mine(): pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--fencepost-implementation", *options]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 4, ran.stdout
    assert text in ran.stdout + ran.stderr

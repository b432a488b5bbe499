"""What was found, as the explorer serves it: a list of every property's verdict, and a page of each violation."""

import re
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from browser import BROWSER, DRIVER, WHY_NOT, browser
from command_line import fencepost, serving
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.cli.prove import reached_by_runs
from fencepost.proofs.cli.shared.pages import attempted
from fencepost.proofs.engines.induction import Proof, prove
from fencepost.proofs.explorer.choices import written
from fencepost.proofs.explorer.server import POLICY, At, Explorer, Wanted, address, listen, server
from fencepost.proofs.explorer.session import Place, Session
from fencepost.proofs.explorer.shelves import Found, Kind, Shelf, application, of_histories, of_implementation, of_proof
from fencepost.proofs.pages.page import page, policy
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.scale.replay import replay
from fencepost.proofs.scale.violating import violating_rows
from fencepost.proofs.testing import agree
from fencepost.proofs.traces import conformance_of
from fencepost.properties.catalogue import find
from fencepost.properties.history import HistoryDirectory
from fencepost.properties.history.location import Location
from flask.testing import FlaskClient

TOKEN, OWN = "a-token", "127.0.0.1:1234"
BROKEN = "fencepost.reference_impl.defects.id_blocks:next_id_not_advanced"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Histories of transactions in which partitions take what an older epoch sends."""
    made = tmp_path_factory.mktemp("broken") / "made"
    defect = ("--config", "broken=older_epoch_accepted")
    assert fencepost("generate", "transactions/v2", made, "--histories", 150, *defect).code == 0
    return made


@pytest.fixture(scope="module")
def shelf(place: Path) -> Shelf:
    opened = HistoryDirectory.open(Location.of(place))
    kernels = {"conformance": conformance_of(opened.manifest)}
    report = replay(opened.location, further=kernels, cores=1)
    names = [name for name in report.violations if name not in kernels]
    return of_histories("made", opened, report, violating_rows(opened.location, names, further=kernels), kernels)


@pytest.fixture(scope="module")
def client(shelf: Shelf) -> FlaskClient:
    return application([shelf], TOKEN, frozenset({OWN})).test_client()


def get(client: FlaskClient, path: str = "", host: str = OWN):
    return client.get(f"/{TOKEN}/{path}", headers={"Host": host})


def test_every_property_is_listed_those_that_are_violated_first(client: FlaskClient, shelf: Shelf, place: Path) -> None:
    """With as many violations as the report has, each a link; and no script at all."""
    answer = get(client)
    assert (answer.status_code, answer.headers["Content-Security-Policy"]) == (200, POLICY)
    assert "<script" not in answer.text
    verdicts = [kind.verdict.split()[0] for kind in shelf.kinds]
    assert verdicts == sorted(verdicts, key=lambda verdict: verdict != "violated")
    assert {"violated", "holds,"} <= set(verdicts)
    for kind in shelf.kinds:
        if kind.verdict.startswith("violated"):
            count = kind.verdict.split()[1].replace(",", "").replace("once", "1")
            assert kind.found and len(kind.found) == int(count)
        assert f'aria-label="{kind.name}"' in answer.text
    links = re.findall(r'<a href="(\d+)">', answer.text)
    assert links == [str(n + 1) for n in range(sum(len(kind.found) for kind in shelf.kinds))]


def test_a_page_is_the_one_that_html_writes(client: FlaskClient, place: Path, tmp_path: Path) -> None:
    """Of the first violation of a property; with a policy that has its own script run, and nothing else."""
    asked = ("--check", "partition epochs never fall", "--no-conformance", "--html", tmp_path / "x")
    assert fencepost("replay", place, *asked).code == 1
    written = (tmp_path / "x").read_text()
    listed = re.findall(r'<a href="(\d+)">(.*?)</a>', get(client).text)
    texts = {number: get(client, number) for number, _ in listed}
    assert written in [answer.text for answer in texts.values()]
    for answer in texts.values():
        assert answer.headers["Content-Security-Policy"] == f"{policy()}; frame-ancestors 'none'"
        assert "unsafe" not in answer.headers["Content-Security-Policy"]


def test_its_row_can_be_found(place: Path, shelf: Shelf) -> None:
    """A page says in which row group of which file, and where in it."""
    story = shelf.kinds[0].found[0].story()
    [reported] = [line for line in story.about if " its row is " in line]
    file, group, row = re.match(r"In (\S+), row group (\d+), its row is (\d+), counted from 0\.", reported).groups()
    event = pq.ParquetFile(place / file).read_row_group(int(group)).slice(int(row), 1).to_pylist()[0]
    at = int(story.verdict.removeprefix("violated at step "))
    assert event["step"] == at
    assert story.title.endswith(f"history {event['history']}")


@pytest.mark.parametrize("path", ["0", "9999", "-1", "x", "page.js", "../shelf.py"])
def test_what_is_not_there(client: FlaskClient, path: str) -> None:
    assert get(client, path).status_code == 404


def test_only_who_is_asked_by_its_name_answers(client: FlaskClient) -> None:
    assert get(client, host="evil.example").status_code == 403
    assert client.get("/1", headers={"Host": OWN}).status_code == 404
    assert client.post(f"/{TOKEN}/", headers={"Host": OWN}).status_code == 405


def test_words_of_a_recording_run_nothing() -> None:
    """They are data in the list too."""
    hostile = "<img src=x onerror=alert(1)></script>"
    kind = Kind(hostile, hostile, False, hostile, [Found(hostile, lambda: None)])  # type: ignore[arg-type,return-value]
    text = get(application([Shelf(hostile, [hostile], [kind])], TOKEN, frozenset({OWN})).test_client()).text
    assert "<img" not in text and text.count("&lt;img") == 8


def test_the_program_of_an_implementation_is_there() -> None:
    """With the model beside it, which takes what it can explain, and not the first bad event."""
    report = agree(BROKEN, protocol="id-blocks", variant="kraft", seed=1, max_examples=200)
    shelf = of_implementation(report)
    [found] = shelf.kinds[0].found
    assert (shelf.kinds[0].verdict, shelf.kinds[1].verdict) == ("found", "none")
    story = found.story()
    model = story.lanes.index("model")
    assert any(model in step.reaches and "The model takes " in step.says for step in story.steps)
    assert model not in story.steps[-1].reaches
    text = get(application([shelf], TOKEN, frozenset({OWN})).test_client(), "1").text
    assert text == page([story])


@pytest.fixture(scope="module")
def attempt() -> tuple[Proof, Shelf, Explorer]:
    """Of a proof that has lost a lemma, without which another one is not inductive any more."""
    entry, variant = find("id-blocks/kraft")
    assert variant is not None
    proof = prove(variant.spec, {name: item for name, item in variant.promised.items() if name != "ready_by_one"})
    reached = [(failed, words) for failed, words in reached_by_runs(variant, proof) if words is not None]
    reported = [(o, words, story) for o, words in reached for story in attempted(entry, variant, [(o, words)])]
    shelf, starts = of_proof("id-blocks/kraft", variant, proof, reported)
    return proof, shelf, Explorer(Session(Place("id-blocks/kraft")), 200_000, starts)


def test_each_step_that_breaks_a_proof_is_there(attempt: tuple[Proof, Shelf, Explorer]) -> None:
    """With what exploration makes of the state in which it begins; what holds has nothing to be looked at."""
    proof, shelf, explorer = attempt
    failing = {name_in_words(o.property) for o in proof.failures if o.counterexample is not None}
    found = [one for kind in shelf.kinds for one in kind.found]
    assert failing and len(explorer.starts) == len(found) >= len(failing)
    for kind in shelf.kinds:
        assert kind.good == (kind.verdict == "holds")
        assert bool(kind.found) == (kind.name in failing)
    assert [kind.good for kind in shelf.kinds] == sorted(kind.good for kind in shelf.kinds)
    assert all("reached" in one.story().verdict for one in found)


def test_what_breaks_a_proof_is_walked_on_from(attempt: tuple[Proof, Shelf, Explorer]) -> None:
    """A path begins in that state: its first step breaks the property, and others are possible there too.  A run that
    is looked for begins as the protocol does."""
    proof, _, explorer = attempt
    failed = next(o for o in proof.failures if o.counterexample is not None and o.counterexample.before is not None)
    assert failed.counterexample is not None and failed.counterexample.event is not None
    at = At("id-blocks/kraft", path=written(failed.counterexample.event), since=1)
    assert "not reached" in explorer.about(at)["begins"]
    view = explorer.view(at)
    [standing] = [one for one in view["properties"] if one["id"] == failed.property]
    assert (view["refused"], standing["holds"]) == ("", (True, False))
    first = explorer.view(At("id-blocks/kraft", since=1))
    assert len([step for one in first["possible"] for step in one["steps"]]) > 1
    assert first["states"] != explorer.view(At("id-blocks/kraft"))["states"]
    search = explorer.search(Wanted("shortest", at, property="never_answered"))["search"]
    answer = finished(explorer, search)
    assert answer["place"] == {"name": "id-blocks/kraft", "without": None, "bounds": {}}
    assert explorer.view(At("id-blocks/kraft", path=answer["path"]))["refused"] == ""
    far = finished(explorer, explorer.search(Wanted("far", at))["search"])
    assert "place" not in far and far["far"]
    with pytest.raises(InputError, match="there is no start 99 of id-blocks/kraft here"):
        explorer.view(At("id-blocks/kraft", since=99))


def finished(explorer: Explorer, number: int) -> Any:
    while (search := explorer.searches.get(number)).as_dict()["running"]:
        time.sleep(0.05)
    assert search.answer is not None, search.error
    return search.answer


@pytest.mark.skipif(BROWSER is None or DRIVER is None, reason=WHY_NOT)
def test_one_clicks_from_the_list_to_the_model(attempt: tuple[Proof, Shelf, Explorer]) -> None:
    """The page of the model says where it begins, and leads back to the protocol's own beginning."""
    _, shelf, explorer = attempt
    with served(shelf, explorer) as url, browser() as window:
        window.open(url)
        window.click("ol li a:nth-of-type(2)")
        window.until("document.querySelectorAll('#run .step').length === 1")
        assert "/walk/#at=id-blocks/kraft" in window.url() and "from=" in window.url()
        assert "not reached" in window.text("#begins")
        window.click("#next .steps button:not(.chosen)")
        window.until("document.querySelectorAll('#run .step').length === 2")
        window.click("#begins button")
        window.until("document.querySelectorAll('#begins, #run .step').length === 0")  # drawn one after the other
        window.until("!location.href.includes('from=')")
        assert window.complaints() == []


@contextmanager
def served(shelf: Shelf, explorer: Explorer | None = None) -> Iterator[str]:
    with listen() as listening:
        made = server(partial(application, [shelf], explorer=explorer), listening, "token")
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield address(listening, "token")
        made.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def url(shelf: Shelf) -> Iterator[str]:
    with served(shelf) as where:
        yield where


@pytest.mark.skipif(BROWSER is None or DRIVER is None, reason=WHY_NOT)
@pytest.mark.parametrize("width", [1500, 500])
def test_a_violation_is_clicked_and_read(url: str, shelf: Shelf, width: int) -> None:
    """From the list to the events and back, in wide and narrow windows, without a complaint of the browser."""
    with browser() as window:
        window.resize(width, 900)
        window.open(url)
        assert window.text("h1") == "made"
        assert window.count("section section") == len(shelf.kinds)
        assert window.run("return document.documentElement.scrollWidth <= window.innerWidth")
        window.click("ol li a")
        assert "/token/1#" in window.url()
        story = shelf.kinds[0].found[0].story()
        assert window.count("#run .step") == len(story.steps)
        assert story.verdict in window.text("header")
        window.run("history.back()")
        assert window.complaints() == []


@pytest.mark.parametrize(
    "words",
    [
        ("PLACE",),
        ("id-blocks/kraft", "--implementation", BROKEN, "--examples", 60),
    ],
)
def test_the_command_serves_it(place: Path, words: tuple[object, ...]) -> None:
    """And says where; then it ends by Ctrl-C."""
    asked = [place if word == "PLACE" else word for word in words]
    with serving(*asked, "--no-browser") as (_, url), urllib.request.urlopen(url) as answer:
        assert 'href="1"' in answer.read().decode()


def test_a_proof_that_holds_is_reported_as_that() -> None:
    """Nothing is to be looked at."""
    words = ("id-blocks/zookeeper", "--from", "proof", "--no-browser")
    with serving(*words) as (_, url), urllib.request.urlopen(url) as answer:
        text = answer.read().decode()
    assert "0 of which have a counterexample" in text
    assert "not inductive" not in text and 'href="1"' not in text


def test_what_does_not_go_together(place: Path) -> None:
    ran = fencepost("explorer", place, "--implementation", BROKEN)
    assert ran.code == 2
    assert "histories are judged as they are; leave --implementation, --from, --bound out" in ran.err
    assert fencepost("explorer", "id-blocks/kraft", "--from", "proof", "--implementation", BROKEN).code == 2
    assert fencepost("explorer", "id-blocks/kraft", "--from", "proof", "--bound", "ids=2").code == 2
    assert fencepost("explorer", place.parent).code == 2
    assert fencepost("explorer", "id-blocks/kraft", "--implementation", "nowhere:factory").code == 2

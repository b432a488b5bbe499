"""The explorer over HTTP: who may ask, what is answered, and what is said where nothing can be."""

import json
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from command_line import fencepost, serving
from fencepost.proofs.cli.explorer import _address_of, _remember
from fencepost.proofs.explorer.server import HOST, PARTS, POLICY, Explorer, application, listen
from fencepost.proofs.explorer.session import Place, Session
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

TOKEN, OWN = "a-token", "127.0.0.1:1234"
NAME = "kip618-yardstick/yardstick"
WRONG = ["618.4", "start_round: guard 1 dropped"]
COUNT = "elect(w=0);reconfigure(w=0,n=0)"


@pytest.fixture(scope="module")
def client() -> FlaskClient:
    explorer = Explorer(Session(Place(NAME)), most=100_000)
    return application(explorer, TOKEN, frozenset({OWN})).test_client()


def get(client: FlaskClient, path: str = "", host: str = OWN) -> TestResponse:
    return client.get(f"/{TOKEN}/{path}", headers={"Host": host})


def post(client: FlaskClient, path: str, body: Any) -> TestResponse:
    return client.post(f"/{TOKEN}/{path}", json=body, headers={"Host": OWN})


def test_each_part_of_the_page_is_there(client: FlaskClient) -> None:
    """With a policy that allows nothing from elsewhere, and nothing in the page that asks for it."""
    for name, (_, _, kind) in PARTS.items():
        answer = get(client, name)
        assert (answer.status_code, answer.mimetype) == (200, kind)
        assert answer.headers["Content-Security-Policy"] == POLICY
        assert "http://" not in answer.text.replace("http://www.w3.org/2000/svg", "") and "https://" not in answer.text
        assert "innerHTML" not in answer.text
    assert "unsafe" not in POLICY and POLICY.startswith("default-src 'none'")


@pytest.mark.parametrize("path", ["", "view", "page.css", "../etc/passwd", "a-tokeN/", f"{TOKEN}x/", "x/a-token/"])
def test_without_the_token_there_is_nothing(client: FlaskClient, path: str) -> None:
    for answer in (client.get(f"/{path}", headers={"Host": OWN}), client.post(f"/{path}", headers={"Host": OWN})):
        assert answer.status_code == 404
        assert "use the address that fencepost explorer has printed" in answer.get_json()["error"]


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:1234", "127.0.0.1", "127.0.0.1:1235", "localhost.:1234"]
)
def test_another_name_is_refused(client: FlaskClient, host: str) -> None:
    """A page whose own name leads here sends that name."""
    assert get(client, host=host).status_code == 403
    assert client.post(f"/{TOKEN}/view", json={"name": NAME}, headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("path", ["nope", "explorer.py", "search/99", "search/x", "../view.js", "%2e%2e/server.py"])
def test_what_is_not_there(client: FlaskClient, path: str) -> None:
    answer = get(client, path)
    assert answer.status_code in (404, 422) and answer.get_json()["error"]


def test_a_view_has_all_that_the_page_shows(client: FlaskClient) -> None:
    reported = post(client, "view", {"name": NAME, "path": COUNT, "step": 1}).get_json()
    assert (reported["at"], reported["path"], reported["refused"]) == (1, COUNT.split(";"), "")
    observed = {"lanes", "steps", "states", "properties", "possible", "impossible", "rules", "loop"}
    assert observed <= set(reported)


def test_a_path_that_does_not_fit_is_displayed_as_far_as_it_does(client: FlaskClient) -> None:
    reported = post(client, "view", {"name": NAME, "path": f"{COUNT};write_count(w=1);elect(w=1)"}).get_json()
    assert reported["path"] == COUNT.split(";")
    assert reported["refused"].startswith("step 3 of the path, write_count(w=1), is not possible there: it needs ")
    reported = post(client, "view", {"name": NAME, "path": COUNT, "loop": 0}).get_json()
    assert (
        reported["refused"] == "the path does not come back to where it was after step 0" and reported["loop"] is None
    )


BAD = [
    ("view", {"name": "nope/nope"}, 422, "there is no protocol 'nope'"),
    ("view", {"name": NAME, "without": ["618.4", "x"]}, 422, "has no mutation"),
    ("view", {"name": NAME, "bounds": {"tasks": 99999}}, 422, "choose one from 0 to 4096"),
    ("view", {"name": NAME, "bounds": {"tasks": "1"}}, 400, "this is not what is asked here: "),
    ("view", {}, 400, "this is not what is asked here: "),
    ("view", [], 400, "this is not what is asked here: "),
    ("view", {"name": NAME, "more": 1}, 400, "this is not what is asked here: "),
    ("about", {"name": "id-blocks"}, 422, "name a variant of it"),
    ("search", {"what": "nope", "at": {"name": NAME}}, 422, "there is no search 'nope'; there are shortest, "),
    ("search", {"what": "another", "at": {"name": NAME}}, 422, "there is no search 'another'"),
    ("search", {"what": "far", "at": {"name": NAME, "path": "x"}}, 422, "step 1 of the path, x, is of no action"),
]


@pytest.mark.parametrize(("path", "body", "code", "why"), BAD)
def test_what_cannot_be_answered_is_reported_in_a_sentence(
    client: FlaskClient, path: str, body: Any, code: int, why: str
) -> None:
    answer = post(client, path, body)
    assert answer.status_code == code
    assert why in answer.get_json()["error"] and "\n" not in answer.get_json()["error"]


def test_what_is_no_json(client: FlaskClient) -> None:
    own = {"Host": OWN}
    assert client.post(f"/{TOKEN}/view", data="{", content_type="application/json", headers=own).status_code == 400
    assert client.post(f"/{TOKEN}/view", data="{}", content_type="text/plain", headers=own).status_code == 415
    large = b" " * ((1 << 20) + 1)
    assert client.post(f"/{TOKEN}/view", data=large, content_type="application/json", headers=own).status_code == 413


def test_a_search_goes_on_until_it_has_an_answer(client: FlaskClient) -> None:
    reported = post(client, "search", {"what": "shortest", "at": {"name": NAME, "without": WRONG}}).get_json()
    for _ in range(500):
        if not reported["running"]:
            break
        time.sleep(0.02)
        reported = get(client, f"search/{reported['search']}").get_json()
    assert reported["answer"]["says"].startswith("“counts match” is broken after 3 steps")
    given_up = post(client, f"search/{reported['search']}/give-up", {}).get_json()
    assert given_up["answer"] == reported["answer"]


def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    """One line with the address; loopback alone; and nothing is written."""
    with serving("id-blocks/by-broker-id", "--no-browser", "--bound", "ids=2") as (_, url):
        with urllib.request.urlopen(url, timeout=20) as answer:
            assert b"explorer.js" in answer.read()
            assert answer.headers["Server"].strip() == "fencepost"
        with urllib.request.urlopen(f"{url}start", timeout=20) as answer:
            assert json.load(answer) == {"name": "id-blocks/by-broker-id", "without": None, "bounds": {"ids": 2}}
        address = url.split("/")[2]
        assert address.startswith(f"{HOST}:")
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(urllib.request.Request(url, headers={"Host": "evil.example"}), timeout=20)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"http://{address}/", timeout=20)


def test_a_model_that_was_edited_is_named() -> None:
    """Where nothing loads it again, as after an attempt at a proof: what runs is the model that was read at the
    beginning."""
    explorer = Explorer(Session(Place(NAME)))
    assert explorer.now() | {"edition": ""} == {"edition": "", "edited": (), "refused": "", "stale": []}
    edited = next(file for file in explorer.files if file.name == "kip618_yardstick.py")
    explorer.files[edited] -= 1
    assert explorer.now()["stale"] == [edited.name]
    explorer.reloads = True
    assert explorer.now()["stale"] == []


def test_the_address_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next explorer of the same model has the same port and token, unless another program took the port."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    port, token = _address_of(NAME)
    assert port == 0
    with listen() as first:
        taken = first.getsockname()[1]
        _remember(NAME, taken, token)
        assert _address_of(NAME) == (taken, token)
        [file] = (tmp_path / "fencepost" / "explorer").iterdir()
        assert file.stat().st_mode & 0o077 == 0
        with listen(taken) as other:
            assert other.getsockname()[1] != taken
    with listen(taken) as again:
        assert again.getsockname()[1] == taken
    assert _address_of("another")[1] != token


def test_what_the_command_refuses() -> None:
    """In one line, before it serves anything."""
    refusals = [
        (("nope",), "there is no protocol 'nope'"),
        (("id-blocks/nope",), "id-blocks has no variant 'nope'"),
        (("id-blocks",), "id-blocks has several variants; name one"),
        ((NAME, "--bound", "nope=1"), "has no bound 'nope'"),
        ((NAME, "--bound", "tasks"), "is not NAME=N"),
        ((NAME, "--bound", "workers=0"), "at least 1"),
    ]
    for words, why in refusals:
        ran = fencepost("explorer", *words, "--no-browser")
        assert (ran.code, ran.out) == (2, ""), words
        [line] = ran.err.splitlines()
        assert why in line

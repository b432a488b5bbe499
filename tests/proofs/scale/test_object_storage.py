"""Histories in object storage: an S3 server on this machine has the same bytes as a directory, and gives the same
report."""

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3
import pytest
from command_line import fencepost, read_json, untimed
from fencepost.properties.history.location import Location
from moto.server import ThreadedMotoServer
from standalone import cluster

REGION = "us-east-1"
BROKEN = ("--config", "broken=next_id_not_advanced")


@contextmanager
def object_storage(*buckets: str) -> Iterator[str]:
    """Its address, with these buckets in it; the environment says whose keys to use, as that of a cloud machine
    does."""
    keys = {"AWS_ACCESS_KEY_ID": "fencepost", "AWS_SECRET_ACCESS_KEY": "none", "AWS_EC2_METADATA_DISABLED": "true"}
    before = {name: os.environ.get(name) for name in keys}
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        os.environ.update(keys)
        host, port = server.get_host_and_port()
        client = boto3.client("s3", endpoint_url=f"http://{host}:{port}", region_name=REGION)
        for bucket in buckets:
            client.create_bucket(Bucket=bucket)
        yield f"{host}:{port}"
    finally:
        server.stop()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def uri(address: str, path: str) -> str:
    """Of a place in that server."""
    return f"s3://{path}?scheme=http&endpoint_override={address}&region={REGION}"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with object_storage("made") as where:
        yield where


def stored(address: str, prefix: str) -> dict[str, bytes]:
    """What lies under a name, markers of directories aside."""
    client = boto3.client("s3", endpoint_url=f"http://{address}", region_name=REGION)
    listed = client.list_objects_v2(Bucket="made", Prefix=f"{prefix}/").get("Contents", [])
    keys = [one["Key"] for one in listed if not one["Key"].endswith("/")]
    return {
        key.removeprefix(f"{prefix}/"): client.get_object(Bucket="made", Key=key)["Body"].read()
        for key in keys
    }  # fmt: skip


def files(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def report(place: object, where: Path, *words: object) -> str:
    ran = fencepost("replay", place, "--json", where, *words)
    assert ran.code == 1, ran.err
    return json.dumps(untimed(read_json(where)))


def test_the_same_bytes_and_the_same_report(address: str, tmp_path: Path) -> None:
    """On two cores as on one, and nothing is left of attempts; what stands there is not written over."""
    there = uri(address, "made/kraft")
    for place, cores in ((tmp_path / "here", 1), (there, 2)):
        words = ("--histories", 1500, *BROKEN, "--cores", cores)
        assert fencepost("generate", "id-blocks/kraft", place, *words).code == 0
    made = files(tmp_path / "here")
    assert len(made) > 2 and stored(address, "kraft") == made
    assert report(there, tmp_path / "s3.json") == report(tmp_path / "here", tmp_path / "here.json")
    again = fencepost("generate", "id-blocks/kraft", there, "--histories", 1)
    assert (again.code, stored(address, "kraft")) == (2, made)
    assert "s3://made/kraft: holds histories already" in again.err


def test_a_set_of_vocabularies(address: str, tmp_path: Path) -> None:
    there = uri(address, "made/whole")
    for place in (tmp_path / "here", there):
        assert fencepost("generate", "end-to-end/whole", place, "--histories", 1).code == 0
    assert stored(address, "whole") == files(tmp_path / "here")
    assert fencepost("replay", there).code == 0


def test_what_fails_leaves_nothing(address: str, tmp_path: Path) -> None:
    """A simulator that cannot use its config; a bucket and a directory that are not there.  One line each."""
    there = uri(address, "made/failed")
    refused = fencepost("generate", "id-blocks/kraft", there, "--histories", 5, "--config", "brokers=-1")
    assert (refused.code, stored(address, "failed")) == (2, {})
    nowhere = fencepost("generate", "id-blocks/kraft", uri(address, "no-bucket/h"), "--histories", 5)
    missing = fencepost("replay", there)
    for ran, says in (
        (nowhere, "Bucket 'no-bucket' not found"),
        (missing, "s3://made/failed/manifest.json: not found"),
    ):
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert says in ran.err and address not in ran.err


@pytest.mark.parametrize(
    ("given", "text", "below"),
    [
        ("s3://key:secret@b/h/?region=x&scheme=http", "s3://b/h", "s3://key:secret@b/h/p?region=x&scheme=http"),
        ("hdfs://user@host:1/h/", "hdfs://host:1/h", "hdfs://user@host:1/h/p"),
        ("/a?b@c/h", "/a?b@c/h", "/a?b@c/h/p"),
    ],
)
def test_keys_are_not_printed(given: str, text: str, below: str) -> None:
    """What a place is called in messages, and what is opened below it; a question mark in a path is one."""
    place = Location.of(given)
    assert (str(place), place / "x", place.within("p").uri) == (text, f"{text}/x", below)


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_workers_of_a_cluster_reach_it(address: str, tmp_path: Path) -> None:
    """What every executor opens by its URI; no path of this machine is needed."""
    there = uri(address, "made/cluster")
    words = ("--histories", 1500, *BROKEN)
    assert fencepost("generate", "id-blocks/kraft", tmp_path / "here", *words).code == 0
    with cluster(tmp_path / "spark") as running:
        assert fencepost("generate", "id-blocks/kraft", there, *words, "--master", running.master).code == 0
        assert stored(address, "cluster") == files(tmp_path / "here")
        reported = report(there, tmp_path / "s3.json", "--master", running.master)
    assert reported == report(tmp_path / "here", tmp_path / "here.json")

"""An S3 server on this machine, for histories that lie in object storage."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

import boto3
from moto.server import ThreadedMotoServer

REGION = "us-east-1"


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

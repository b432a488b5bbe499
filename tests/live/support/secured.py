"""A Kafka of one node that asks clients for TLS or SASL, and grants one user reading of some topics alone.

with secured(jars, folder) as kafka:
    kafka.bootstrap("SCRAM"), kafka.properties("scram.properties", **SCRAM)
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from fencepost.reference_impl.live.clusters.kafka import HOST, KafkaCluster, free_ports
from fencepost.reference_impl.live.clusters.properties import properties

USER, PASSWORD = "reader", 'a "secret", = \\ ü'
LISTENERS = {"SCRAM": "SASL_SSL", "MUTUAL": "SSL", "PLAIN": "SASL_PLAINTEXT"}
MECHANISMS = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}
WAIT_S = 30


@dataclass(frozen=True)
class Secured:
    """A cluster, its ports by listener, and the folder of its certificates: ca.pem, client.pem, stranger.pem."""

    cluster: KafkaCluster
    ports: dict[str, int]
    folder: Path

    def bootstrap(self, listener: str) -> str:
        return f"{HOST}:{self.ports[listener]}"

    def properties(self, name: str, **given: str) -> Path:
        """A file of these properties, whose names have _ for dots."""
        file = self.folder / name
        file.write_text(properties({key.replace("_", "."): escaped(value) for key, value in given.items()}))
        return file

    def login(self, mechanism: str, password: str = PASSWORD) -> dict[str, str]:
        """Properties that log in as the reader."""
        kind = "Plain" if mechanism == "PLAIN" else "Scram"
        module = f"org.apache.kafka.common.security.{kind.lower()}.{kind}LoginModule"
        return {
            "security_protocol": LISTENERS["PLAIN" if mechanism == "PLAIN" else "SCRAM"], "sasl_mechanism": mechanism,
            "sasl_jaas_config": f'{module} required username="{USER}" password="{quoted(password)}";',
            "ssl_truststore_type": "PEM", "ssl_truststore_location": str(self.folder / "ca.pem"),
        }  # fmt: skip


@contextmanager
def secured(jars: Path, folder: Path, **settings: object) -> Iterator[Secured]:
    certificates(folder)
    cluster = KafkaCluster(jars, folder / "cluster", size=1)
    ports = dict(zip(LISTENERS, free_ports(len(LISTENERS)), strict=True))
    cluster.settings = _settings(cluster, ports, folder) | settings
    with cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        for kind in MECHANISMS.values():
            wanted = UserScramCredentialUpsertion(USER, ScramCredentialInfo(kind, 4096), PASSWORD.encode())
            for done in admin.alter_user_scram_credentials([wanted]).values():
                done.result(WAIT_S)
        yield Secured(cluster, ports, folder)


def allow(kafka: Secured, resource: ResourceType, name: str, operation: AclOperation) -> None:
    """Grant the reader one operation on what begins with a name."""
    admin = AdminClient({"bootstrap.servers": kafka.cluster.bootstrap})
    binding = AclBinding(
        resource, name, ResourcePatternType.PREFIXED, f"User:{USER}", "*", operation, AclPermissionType.ALLOW
    )
    for done in admin.create_acls([binding]).values():
        done.result(WAIT_S)


def _settings(cluster: KafkaCluster, ports: dict[str, int], folder: Path) -> dict[str, object]:
    internal, controller = cluster.internal_address(1), cluster.controller_address(1)
    own = ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items())
    public = f"CLIENTS://{cluster.address(1)},INTERNAL://{internal},{own}"
    protocols = {"CLIENTS": "PLAINTEXT", "INTERNAL": "PLAINTEXT", "CONTROLLER": "PLAINTEXT"} | LISTENERS
    scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    plain = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    users = escaped(f'username="a" password="b" user_{USER}="{quoted(PASSWORD)}"')
    return {
        "listeners": f"{public},CONTROLLER://{controller}", "advertised.listeners": public,
        "listener.security.protocol.map": ",".join(f"{name}:{kind}" for name, kind in protocols.items()),
        "listener.name.scram.sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "listener.name.scram.scram-sha-256.sasl.jaas.config": scram,
        "listener.name.scram.scram-sha-512.sasl.jaas.config": scram,
        "listener.name.plain.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.plain.plain.sasl.jaas.config": f"{plain} {users};",
        "listener.name.mutual.ssl.client.auth": "required",
        "ssl.keystore.type": "PEM", "ssl.keystore.location": folder / "server.pem",
        "ssl.truststore.type": "PEM", "ssl.truststore.location": folder / "ca.pem",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:CN=client",
    }  # fmt: skip


def quoted(value: str) -> str:
    """As within the quotes of a JAAS option."""
    return value.replace("\\", "\\\\").replace('"', '\\"')


def escaped(value: str) -> str:
    """As in a properties file."""
    doubled = value.replace("\\", "\\\\")
    return "".join(letter if letter.isascii() else f"\\u{ord(letter):04x}" for letter in doubled)


def certificates(folder: Path) -> None:
    """Write an authority's ca.pem, and with their keys server.pem (127.0.0.1) and client.pem that it has signed, and
    stranger.pem that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    (folder / "ca.pem").write_bytes(_pem(authority := _certificate("authority", key, key, None)))
    for name in ("server", "client", "stranger"):
        own = ec.generate_private_key(ec.SECP256R1())
        issuer = (own, None) if name == "stranger" else (key, authority)
        private = own.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        (folder / f"{name}.pem").write_bytes(private + _pem(_certificate(name, own, *issuer)))


def _certificate(name: str, key: Any, signed_by: Any, issuer: x509.Certificate | None) -> x509.Certificate:
    subject, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]), datetime.now(UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))])
    return (
        x509.CertificateBuilder(subject_name=subject, public_key=key.public_key())
        .issuer_name(subject if issuer is None else issuer.subject)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(address, critical=False)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .sign(signed_by, hashes.SHA256())
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)

"""This module reads how clients are to connect from a properties file in the format of Kafka's own clients: TLS, and
SASL with PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.

    security = client_security(Path("client.properties"))     # ValueError in one line for what is not supported
    Connection("127.0.0.1", 9093, security=security)

Certificates and keys are PEM, in files or in the properties themselves. The few names that librdkafka has for the same
are read as well. What does not bear on the connection, such as group.id, is in `unused`.

Sources: Kafka's SslConfigs, SaslConfigs and DefaultSslEngineFactory.PemStore; java.util.Properties; RFC 5802 and 7677
(SCRAM), RFC 4616 (PLAIN); ScramFormatter, which normalizes no passwords."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import ssl
import tempfile
from base64 import b64decode, b64encode
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from textwrap import wrap

PLAIN = "PLAIN"
SCRAM: Mapping[str, str] = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
LEAST_ITERATIONS = 4096  # a server that asks for fewer may be after the password
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
TLS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
LIBRDKAFKA = {
    "sasl.mechanisms": "sasl.mechanism", "ssl.ca.location": "ssl.truststore.location",
    "ssl.ca.pem": "ssl.truststore.certificates", "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.pem": "ssl.keystore.key",
}  # fmt: skip
KNOWN = frozenset(
    {
        "security.protocol", "sasl.mechanism", "sasl.jaas.config", "sasl.username", "sasl.password",
        "ssl.truststore.location", "ssl.truststore.certificates", "ssl.truststore.type", "ssl.keystore.location",
        "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.keystore.type", "ssl.key.password",
        "ssl.endpoint.identification.algorithm", "ssl.enabled.protocols", "ssl.protocol",
    }
)  # fmt: skip
BEARING = ("security.", "sasl.", "ssl.", "config.providers")
LINE = re.compile(r"[ \t\f]*((?:[^\\:=\s]|\\.)+)[ \t\f]*[:=]?[ \t\f]*(.*)", re.DOTALL)
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
OPTION = re.compile(r"([\w.]+)\s*=\s*(\"(?:[^\"\\]|\\.)*\"|[^\s\";]+)")
JAAS = re.compile(rf"(?P<module>[\w.]+)\s+required(?P<options>(?:\s+{OPTION.pattern})*)\s*;")
PEM = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
TO_PEM = (
    "only PEM is read here: openssl pkcs12 -in FILE.p12 -out FILE.pem writes it from PKCS12, and keytool "
    "-importkeystore -srckeystore FILE.jks -destkeystore FILE.p12 -deststoretype PKCS12 that from JKS"
)


@dataclass(frozen=True)
class Security:
    """A `Security` is how to connect: `tls` is None for a plain connection, `mechanism` empty without SASL."""

    tls: ssl.SSLContext | None = None
    mechanism: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    unused: tuple[str, ...] = ()

    def exchange(self) -> Generator[bytes, bytes, None]:
        """Yield what the client says in its SASL mechanism, and receive what the server answers. Raise ValueError for
        a server that does not prove that it knows the password."""
        if self.mechanism in SCRAM:
            return scram(SCRAM[self.mechanism], self.username, self.password, secrets.token_urlsafe(24))
        return _plain(self.username, self.password)


@cache
def client_security(file: Path) -> Security:
    """Return what a properties file says of connections. Raise ValueError for what cannot be used, in one line."""
    try:
        given = properties_of(file.read_text(encoding="latin-1"))  # as Properties.load reads it
    except OSError as error:
        raise ValueError(f"{file}: cannot be read: {error.strerror}") from None
    found = {LIBRDKAFKA.get(name, name): value.strip() for name, value in given.items()}
    try:
        unknown = sorted(name for name in found if name.startswith(BEARING) and name not in KNOWN)
        if unknown:
            raise ValueError(f"{', '.join(unknown)}: not known, or not supported here; leave it out")
        protocol = found.get("security.protocol", "PLAINTEXT").upper()
        if protocol not in PROTOCOLS:
            raise ValueError(f"security.protocol={protocol}: it is one of {', '.join(PROTOCOLS)}")
        tls = _tls(found) if protocol.endswith("SSL") else None
        mechanism, username, password = _credentials(found) if protocol.startswith("SASL") else ("", "", "")
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    return Security(tls, mechanism, username, password, tuple(sorted(found.keys() - KNOWN)))


def properties_of(text: str) -> dict[str, str]:
    """Return the names and values of a text in the format of java.util.Properties."""
    lines = (line.lstrip(" \t\f") for line in text.splitlines())
    found, begun = {}, ""
    for line in lines:
        if not begun and (not line or line[0] in "#!"):
            continue
        whole = begun + line
        if (len(whole) - len(whole.rstrip("\\"))) % 2:
            begun = whole[:-1]
            continue
        begun = ""
        if match := LINE.fullmatch(whole):
            found[_unescaped(match[1])] = _unescaped(match[2])
    return found


def _unescaped(text: str) -> str:
    def meant(match: re.Match[str]) -> str:
        letter = match[1]
        return chr(int(letter[1:], 16)) if len(letter) > 1 else LETTERS.get(letter, letter)

    return ESCAPE.sub(meant, text)


def _credentials(found: Mapping[str, str]) -> tuple[str, str, str]:
    mechanism = found.get("sasl.mechanism", "GSSAPI").upper()
    if mechanism != PLAIN and mechanism not in SCRAM:
        raise ValueError(f"sasl.mechanism={mechanism}: supported here are {', '.join((PLAIN, *SCRAM))}")
    options = {"username": found.get("sasl.username", ""), "password": found.get("sasl.password", "")}
    if jaas := found.get("sasl.jaas.config", ""):
        module = f"{'Plain' if mechanism == PLAIN else 'Scram'}LoginModule"
        match = JAAS.fullmatch(jaas)
        if match is None or not match["module"].endswith(f".{module}"):
            package = f"org.apache.kafka.common.security.{module[:5].lower()}"
            raise ValueError(
                f'sasl.jaas.config: with {mechanism} it is {package}.{module} required username="…" password="…";'
            )
        given = {
            name: _unescaped(value[1:-1] if value[0] == '"' else value)
            for name, value in OPTION.findall(match["options"])
        }
        if unknown := given.keys() - options.keys():
            raise ValueError(f"sasl.jaas.config: {', '.join(sorted(unknown))} is not supported here; leave it out")
        options |= given
    if not options["username"]:
        raise ValueError('sasl.jaas.config names no username="…"; SASL needs one, and a password="…"')
    return mechanism, options["username"], options["password"]


def _tls(found: Mapping[str, str]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    algorithm = found.get("ssl.endpoint.identification.algorithm", "https").lower()
    if algorithm not in ("https", "", "none"):
        raise ValueError(f"ssl.endpoint.identification.algorithm={algorithm}: it is https, or empty for no check")
    context.check_hostname = algorithm == "https"
    named = found.get("ssl.enabled.protocols", ",".join(TLS)).replace(" ", "").split(",")
    versions = [version for name, version in TLS.items() if name in named]
    if not versions:
        raise ValueError(f"ssl.enabled.protocols={','.join(named)}: supported here are {', '.join(TLS)}")
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
    trusted = _pem(found, "ssl.truststore.location", "ssl.truststore.certificates")
    chain = _pem(found, "ssl.keystore.location", "ssl.keystore.certificate.chain")
    chain += _pem(found, "ssl.keystore.key")
    try:
        if trusted:
            context.load_verify_locations(cadata=trusted)
        else:
            context.load_default_certs()
        if chain:
            with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # OpenSSL takes keys from files alone
                file.write(chain)
                file.flush()
                context.load_cert_chain(file.name, password=found.get("ssl.key.password", ""))
    except ssl.SSLError as error:
        raise ValueError(f"ssl.…: a certificate or key cannot be used: {error.reason or error}") from None
    return context


def _pem(found: Mapping[str, str], *names: str) -> str:
    """Return the PEM that these properties hold or whose file they name, in lines as OpenSSL wants them."""
    texts = []
    for name in names:
        text = value = found.get(name, "")
        if value and name.endswith(".location"):
            try:
                text = Path(value).read_bytes().decode("ascii", errors="replace")
            except OSError as error:
                raise ValueError(f"{name}={value}: cannot be read: {error.strerror}") from None
        parts = PEM.findall(text)
        if value and not parts:
            raise ValueError(f"{name}: {TO_PEM}")
        texts += [
            "\n".join((f"-----BEGIN {kind}-----", *wrap("".join(body.split()), 64), f"-----END {kind}-----\n"))
            for kind, body in parts
        ]
    return "".join(texts)


def _plain(username: str, password: str) -> Generator[bytes, bytes, None]:
    yield f"\0{username}\0{password}".encode()


def scram(digest: str, username: str, password: str, nonce: str) -> Generator[bytes, bytes, None]:
    """Yield the client's two messages of RFC 5802, and receive the server's. `digest` is sha256 or sha512."""
    name = username.replace("=", "=3D").replace(",", "=2C")
    first = f"n={name},r={nonce}"
    answer = (yield f"n,,{first}".encode()).decode()
    fields = _fields(answer)
    try:
        both, salt, iterations = fields["r"], b64decode(fields["s"]), int(fields["i"])
    except (KeyError, ValueError):
        raise ValueError(f"its first SCRAM message is {answer[:80]!r}") from None
    if not both.startswith(nonce) or both == nonce or iterations < LEAST_ITERATIONS:
        raise ValueError(f"its SCRAM nonce is not for this client, or {iterations} iterations are too few")
    salted = hashlib.pbkdf2_hmac(digest, password.encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", digest)
    final = f"c={b64encode(b'n,,').decode()},r={both}"
    auth = f"{first},{answer},{final}".encode()
    signature = hmac.digest(hashlib.new(digest, client_key).digest(), auth, digest)
    proof = b64encode(bytes(mine ^ theirs for mine, theirs in zip(client_key, signature, strict=True))).decode()
    fields = _fields((yield f"{final},p={proof}".encode()).decode())
    verifier = b64encode(hmac.digest(hmac.digest(salted, b"Server Key", digest), auth, digest)).decode()
    if not hmac.compare_digest(fields.get("v", ""), verifier):
        raise ValueError(f"it does not prove that it knows the password ({fields.get('e', 'wrong proof')})")


def _fields(message: str) -> dict[str, str]:
    return {part[:1]: part[2:] for part in message.split(",")}

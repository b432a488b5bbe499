"""Properties of Kafka's clients, as they are read, and what of them is refused; SCRAM against the RFC's example."""

from __future__ import annotations

import ssl
from collections.abc import Generator
from pathlib import Path

import pytest
from command_line import fencepost
from fencepost.reference_impl.live.tcp.security import Security, client_security, properties_of, scram
from secured import certificates

JAAS = "org.apache.kafka.common.security"
LOGIN = (
    f"sasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config={JAAS}.scram.ScramLoginModule required username=a password=b;\n"
)


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ca.pem, client.pem, server.pem, stranger.pem."""
    certificates(folder := tmp_path_factory.mktemp("pem"))
    return folder


def read(folder: Path, text: str) -> Security:
    client_security.cache_clear()
    file = folder / "client.properties"
    file.write_text(text)
    return client_security(file)


def test_the_format_is_that_of_java() -> None:
    """Comments, three separators, lines that go on, and escapes; the last of several values wins."""
    text = """
# a comment \\
! another
a=1
 b : 2
c 3
d\\ e = x\\=y \\
      and \\u00fc\\t.
f=\\\\
g
a=4
"""
    expected = {"a": "4", "b": "2", "c": "3", "d e": "x=y and ü\t.", "f": "\\", "g": ""}
    assert properties_of(text) == expected


def test_who_logs_in_and_how(tmp_path: Path) -> None:
    """Quoted and plain options of JAAS, over several lines; librdkafka's names mean the same."""
    found = read(
        tmp_path,
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config="
        f'{JAAS}.plain.PlainLoginModule required \\\n  username="a b" \\\n password="c\\\\"d;\\\\\\\\";\n'
        "group.id=g\nacks=1\n",
    )
    assert (found.mechanism, found.username, found.password, found.tls) == ("PLAIN", "a b", 'c"d;\\', None)
    assert found.unused == ("acks", "group.id")
    assert found.password not in repr(found)
    assert list(found.exchange()) == [b'\0a b\0c"d;\\']
    other = read(
        tmp_path, "security.protocol=sasl_ssl\nsasl.mechanisms=SCRAM-SHA-512\nsasl.username=u\nsasl.password=p\n"
    )
    assert (other.mechanism, other.username, other.password) == ("SCRAM-SHA-512", "u", "p")
    assert other.tls is not None and other.tls.check_hostname and other.tls.verify_mode == ssl.CERT_REQUIRED
    assert read(tmp_path, LOGIN).mechanism == "", "security.protocol is PLAINTEXT by default, as in Kafka"


def test_certificates_in_files_and_in_the_properties(tmp_path: Path, pem: Path) -> None:
    """In one line they are as Kafka's documentation has them."""
    key, chain = (part for part in (pem / "client.pem").read_text().split("-----BEGIN CERTIFICATE"))
    one_line = " ".join(f"-----BEGIN CERTIFICATE{chain}".split("\n"))
    for given in (
        f"ssl.truststore.location={pem}/ca.pem\nssl.keystore.location={pem}/client.pem\nssl.truststore.type=PEM\n",
        f"ssl.ca.location={pem}/ca.pem\nssl.keystore.key={' '.join(key.split(chr(10)))}\n"
        f"ssl.keystore.certificate.chain={one_line}\nssl.endpoint.identification.algorithm=\n",
    ):
        tls = read(tmp_path, f"security.protocol=SSL\nssl.enabled.protocols=TLSv1.3\n{given}").tls
        assert tls is not None
        assert [cert["subject"][0][0][1] for cert in tls.get_ca_certs()] == ["authority"]
        assert tls.minimum_version == tls.maximum_version == ssl.TLSVersion.TLSv1_3
        assert tls.check_hostname == ("algorithm" not in given)
    assert not list(tmp_path.glob("*.pem"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "ssl.trustore.location=x\nsasl.kerberos.service.name=y",
            "sasl.kerberos.service.name, ssl.trustore.location: not",
        ),
        ("security.protocol=TLS", "security.protocol=TLS: it is one of PLAINTEXT, SSL"),
        ("security.protocol=SASL_SSL", "sasl.mechanism=GSSAPI: supported here are PLAIN, SCRAM-SHA-256"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER", "sasl.mechanism=OAUTHBEARER"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN", 'names no username="…"'),
        (
            f"security.protocol=SASL_SSL\n{LOGIN}sasl.mechanism=PLAIN",
            "with PLAIN it is org.apache.kafka.common.security",
        ),
        (f"security.protocol=SASL_SSL\n{LOGIN.replace(';', ' tokenauth=true;')}", "tokenauth is not supported here"),
        (f"security.protocol=SASL_SSL\n{LOGIN.replace(';', '')}", "with SCRAM-SHA-256 it is"),
        ("security.protocol=SSL\nssl.truststore.location=/nowhere", "ssl.truststore.location=/nowhere: cannot be read"),
        ("security.protocol=SSL\nssl.truststore.location={file}", "only PEM is read here: openssl pkcs12 -in"),
        ("security.protocol=SSL\nssl.keystore.location={pem}/ca.pem", "a certificate or key cannot be used"),
        ("security.protocol=SSL\nssl.endpoint.identification.algorithm=ldaps", "it is https, or empty for no check"),
        ("security.protocol=SSL\nssl.enabled.protocols=TLSv1.1", "supported here are TLSv1.2, TLSv1.3"),
        ("config.providers=file", "config.providers: not known, or not supported here"),
    ],
)
def test_what_is_not_supported_is_one_line(tmp_path: Path, pem: Path, text: str, words: str) -> None:
    """It names the file, the property, and what to do."""
    (tmp_path / "store.jks").write_bytes(b"\xfe\xed\xfe\xed")
    with pytest.raises(ValueError) as refused:
        read(tmp_path, text.format(file=tmp_path / "store.jks", pem=pem))
    assert str(refused.value).startswith(f"{tmp_path}/client.properties: ")
    assert words in str(refused.value) and "\n" not in str(refused.value)
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        client_security(tmp_path / "nowhere")


NONCE, SERVER = (
    "rOprNGfwEbeRWgbNEkqO",
    "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
)
PROVED = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def begun() -> tuple[Generator[bytes, bytes, None], bytes]:
    """The exchange of the RFC's example, and the client's first message."""
    exchange = scram("sha256", "user", "pencil", NONCE)
    return exchange, next(exchange)


def test_scram_is_that_of_the_rfc() -> None:
    """RFC 7677, section 3."""
    exchange, first = begun()
    assert first == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert exchange.send(SERVER.encode()).decode() == (
        "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    with pytest.raises(StopIteration):
        exchange.send(PROVED.encode())


@pytest.mark.parametrize(
    ("server", "final", "words"),
    [
        (SERVER.replace("r=r", "r=s"), PROVED, "nonce is not for this client"),
        (f"r={NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", PROVED, "nonce is not for this client"),
        (SERVER.replace("4096", "1"), PROVED, "1 iterations are too few"),
        ("e=other-error", PROVED, "its first SCRAM message is 'e=other-error'"),
        (SERVER, "v=AAAA", "does not prove that it knows the password"),
        (SERVER, "e=invalid-proof", "(invalid-proof)"),
        (SERVER, "", "does not prove"),
    ],
)
def test_a_server_that_is_not_the_broker(server: str, final: str, words: str) -> None:
    """A client that does not know the password gets no further than a proof that is of no use to it."""
    exchange, _ = begun()
    with pytest.raises(ValueError) as refused:
        exchange.send(server.encode())
        exchange.send(final.encode())
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words", "says"),
    [
        ("sasl.jass.config=x", ["--bootstrap", "127.0.0.1:1"], "sasl.jass.config: not known, or not supported here"),
        ("", [], "--client-config is about TLS and SASL of brokers: name brokers with --bootstrap"),
        ("", ["--bootstrap", "127.0.0.1:1", "--implementation", "librdkafka"], "is before real clients"),
        ("group.id=g", ["--bootstrap", "127.0.0.1:1"], "not about connections, and not used: group.id"),
    ],
)
def test_the_option_is_refused_or_explained(tmp_path: Path, text: str, words: list[str], says: str) -> None:
    """Before anything is driven."""
    client_security.cache_clear()
    (file := tmp_path / "client.properties").write_text(text)
    ran = fencepost("agree", "transactions/v2", *words, "--client-config", file)
    assert ran.code == 2 and says in ran.err.replace("\n", " "), ran.err

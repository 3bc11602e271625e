"""A server behind a company's gateway: headers, certificates of its own, a proxy."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
import trustme
from faulty_server import FaultyServer

from pytest_promptse._redaction import redact
from pytest_promptse.errors import SettingsError
from pytest_promptse.models._base import FatalError, TransientError
from pytest_promptse.models._gateway import Gateway
from pytest_promptse.models._openai import OpenAIBackend


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret0123456789")
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def files(authority, tmp_path):
    """PEM files: the authority, and a client's certificate with its key apart."""
    client = authority.issue_cert("team@example.org")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    client.cert_chain_pems[0].write_to_path(tmp_path / "client.pem")
    client.private_key_pem.write_to_path(tmp_path / "client.key")
    return {path.name: str(path) for path in tmp_path.iterdir()}


def server_over_tls(
    authority, *, wants_client: bool = False, host: str = "127.0.0.1", until=None
) -> FaultyServer:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(host, not_after=until).configure_cert(context)
    if wants_client:
        authority.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return FaultyServer(tls=context)


def reach(base_url: str, **gateway) -> None:
    backend = OpenAIBackend("openai:m", "m", base_url=base_url, gateway=Gateway(**gateway))

    async def talk():
        try:
            await backend.start()
        finally:
            await backend.close()

    asyncio.run(talk())


def reach_again(base_url: str, **gateway) -> None:
    """Reach the server, as a run does: again if the connection was closed before an answer."""
    for _ in range(100):
        with suppress(TransientError):
            return reach(base_url, **gateway)
    return None


def test_headers_are_sent_with_secrets_from_the_environment(monkeypatch):
    monkeypatch.setenv("TEAM", "tardigrade")
    with FaultyServer() as server:
        reach(server.base_url, headers=(("X-Team", "team $TEAM"), ("X-Plain", "yes")))
    assert server.headers[0]["x-team"] == "team tardigrade"
    assert server.headers[0]["x-plain"] == "yes"
    assert "tardigrade" not in redact("X-Team: team tardigrade")


def test_a_header_whose_variable_is_missing_is_named(monkeypatch):
    monkeypatch.delenv("NOT_SET", raising=False)
    backend = OpenAIBackend("openai:m", "m", gateway=Gateway(headers=(("X-Key", "$NOT_SET"),)))
    with pytest.raises(SettingsError, match="X-Key: the environment variable NOT_SET is"):
        backend.check()


def test_a_certificate_that_nobody_trusts_is_said_to_be_the_cause(authority):
    with (
        server_over_tls(authority, wants_client=False) as server,
        pytest.raises(FatalError, match=r"certificate is not trusted .*--promptse-ca-bundle"),
    ):
        reach(server.base_url)


def test_the_remedy_fits_what_is_wrong_with_the_certificate(authority, files):
    yesterday = datetime.now(UTC) - timedelta(days=1)
    own = {"ca_bundle": files["ca.pem"]}
    cases = [
        (server_over_tls(authority, until=yesterday), own, "expired.*needs a valid certificate"),
        (server_over_tls(authority, host="127.0.0.2"), own, "host name of the certificate"),
        (server_over_tls(trustme.CA()), own, r"ca\.pem does not contain the authority"),
        (FaultyServer(), own, "WRONG_VERSION_NUMBER.*does not use TLS at this port"),
    ]
    for server, gateway, message in cases:
        with server, pytest.raises(FatalError, match=message):
            reach(server.base_url.replace("http:", "https:"), **gateway)


def test_a_client_certificate_that_the_server_refuses_is_named(authority, files, tmp_path):
    stranger = trustme.CA().issue_cert("team@example.org")
    stranger.private_key_and_cert_chain_pem.write_to_path(tmp_path / "stranger.pem")
    with (
        server_over_tls(authority, wants_client=True) as server,
        pytest.raises(FatalError, match=r"may not accept the certificate in .*stranger\.pem"),
    ):
        reach(
            server.base_url,
            ca_bundle=files["ca.pem"],
            client_certificate=str(tmp_path / "stranger.pem"),
        )


def test_a_certificate_and_its_key_are_asked_for_together(files):
    alone = OpenAIBackend("openai:m", "m", gateway=Gateway(client_certificate=files["client.pem"]))
    with pytest.raises(
        SettingsError, match=r"client\.pem contains no key; .*--promptse-client-key"
    ):
        alone.check()
    keys = OpenAIBackend("openai:m", "m", gateway=Gateway(client_key=files["client.key"]))
    with pytest.raises(SettingsError, match="give --promptse-client-certificate FILE"):
        keys.check()


@pytest.mark.parametrize("way", ["setting", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_a_bundle_of_ones_own_makes_it_trusted(authority, files, way, monkeypatch):
    with server_over_tls(authority, wants_client=False) as server:
        if way == "setting":
            reach(server.base_url, ca_bundle=files["ca.pem"])
        else:
            monkeypatch.setenv(way, files["ca.pem"])
            reach(server.base_url)
    assert server.requests


def test_a_client_shows_its_certificate(authority, files):
    with server_over_tls(authority, wants_client=True) as server:
        with pytest.raises(FatalError, match="--promptse-client-certificate"):
            reach_again(server.base_url, ca_bundle=files["ca.pem"])
        reach(
            server.base_url,
            ca_bundle=files["ca.pem"],
            client_certificate=files["client.pem"],
            client_key=files["client.key"],
        )
    assert server.requests


def test_requests_go_through_the_proxy():
    with FaultyServer() as proxy:
        reach("http://models.invalid/v1", proxy=proxy.base_url.removesuffix("/v1"))
    assert proxy.paths[0].startswith("http://models.invalid/v1/")


@pytest.mark.parametrize(
    ("gateway", "message"),
    [
        ({"ca_bundle": "none.pem"}, "--promptse-ca-bundle: none.pem does not exist"),
        ({"ca_bundle": __file__}, "cannot be read as PEM"),
        ({"client_certificate": "none.pem"}, "--promptse-client-certificate: none.pem"),
    ],
)
def test_a_file_that_cannot_be_used_ends_before_any_request(gateway, message):
    backend = OpenAIBackend("openai:m", "m", gateway=Gateway(**gateway))
    with pytest.raises(SettingsError, match=message):
        backend.check()

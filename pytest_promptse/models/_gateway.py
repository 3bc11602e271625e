"""How a server is reached: headers, certificates and a proxy, as company gateways demand them."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_promptse._redaction import remember_secret
from pytest_promptse.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_CA_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


@dataclass(frozen=True, kw_only=True)
class Gateway:
    """The way to a server.

    Attributes
    ----------
    headers
        Headers of every request. ``$NAME`` in a value is an environment variable.
    ca_bundle
        PEM file of the certificate authorities to trust, besides those of the system. By default
        the file that SSL_CERT_FILE, REQUESTS_CA_BUNDLE or CURL_CA_BUNDLE names.
    client_certificate, client_key
        PEM files of the certificate that the server demands, and of its key. None as key means
        that the certificate's file contains it.
    proxy
        Address of the proxy. By default the one of HTTPS_PROXY, HTTP_PROXY and NO_PROXY.
    """

    headers: tuple[tuple[str, str], ...] = ()
    ca_bundle: str | None = None
    client_certificate: str | None = None
    client_key: str | None = None
    proxy: str | None = None

    def sent_headers(self) -> Mapping[str, str]:
        """Return the headers with the values of their environment variables.

        Raises
        ------
        SettingsError
            If a variable is not set.
        """
        sent = {}
        for name, template in self.headers:
            value = os.path.expandvars(template)
            if "$" in template and value == template:
                raise SettingsError(
                    f"--promptse-header {name}: the environment variable in {template!r} is not "
                    "set; export it"
                )
            remember_secret(value)
            sent[name] = value
        return sent

    def tls_context(self) -> ssl.SSLContext:
        """Return the TLS settings.

        Raises
        ------
        SettingsError
            If a file is missing or is no certificate or key.
        """
        context = ssl.create_default_context()
        bundle = self.ca_bundle or next(filter(None, map(os.environ.get, _CA_VARIABLES)), None)
        if bundle is not None:
            flag = "--promptse-ca-bundle" if self.ca_bundle else "the CA bundle of the environment"
            _load(flag, bundle, lambda: context.load_verify_locations(bundle))
        certificate = self.client_certificate
        if certificate is not None:
            key = self.client_key
            _load(
                "--promptse-client-certificate",
                f"{certificate} with the key {key}" if key else certificate,
                lambda: context.load_cert_chain(certificate, key, password=_no_password),
            )
        return context


def _load(flag: str, path: str, read: Callable[[], None]) -> None:
    try:
        read()
    except FileNotFoundError:
        raise SettingsError(f"{flag}: {path} does not exist") from None
    except OSError as error:
        reason = getattr(error, "reason", "") or error.strerror
        raise SettingsError(f"{flag}: {path} cannot be read as PEM ({reason})") from None


def _no_password() -> str:
    raise SettingsError(
        "--promptse-client-key: the key is encrypted; give a file with the decrypted key"
    )

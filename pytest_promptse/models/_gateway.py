"""How a server is reached: headers, certificates and a proxy, as company gateways demand them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_promptse._redaction import remember_secret
from pytest_promptse.errors import SettingsError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping

_VARIABLE = re.compile(r"\$\{?(?P<name>\w+)")
# Codes of OpenSSL's X509_verify_cert: not yet valid, expired; another host name, another address.
_OUT_OF_DATE = frozenset({9, 10})
_OTHER_HOST = frozenset({62, 64})
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
                # Only the name: the rest of a header is hidden in every message.
                unset = _VARIABLE.search(template)
                raise SettingsError(
                    f"--promptse-header {name}: the environment variable "
                    f"{unset['name'] if unset else 'after $'} is not set; export it"
                )
            remember_secret(value)
            sent[name] = value
        return sent

    def tls_context(self) -> ssl.SSLContext:
        """Return the TLS settings.

        Raises
        ------
        SettingsError
            If a file is missing or is no certificate or key, or if a key has no certificate.
        """
        flag = "--promptse-ca-bundle" if self.ca_bundle else "the CA bundle of the environment"
        return _tls_context(flag, self._bundle, self.client_certificate, self.client_key)

    def tls_failure(self, error: ssl.SSLError) -> str:
        """Return what failed when a connection was made, with the remedy for these settings."""
        import ssl

        if isinstance(error, ssl.SSLCertVerificationError):
            untrusted = f"the server's certificate is not trusted ({error.verify_message})"
            return f"{untrusted}; {self._trust_remedy(error.verify_code)}"
        detail = error.reason or " ".join(str(error).split())
        if error.reason == "WRONG_VERSION_NUMBER":
            remedy = "the server does not use TLS at this port; give http:// or another port"
        elif self.client_certificate is not None:
            remedy = (
                f"the server may not accept the certificate in {self.client_certificate}; give "
                "one that it accepts with --promptse-client-certificate FILE"
            )
        else:
            remedy = "if the server demands a certificate, give --promptse-client-certificate FILE"
        return f"TLS fails ({detail}); {remedy}"

    def _trust_remedy(self, code: int) -> str:
        if code in _OUT_OF_DATE:
            return "the server needs a valid certificate; also check the clock of this machine"
        if code in _OTHER_HOST:
            return "give the host name of the certificate in --promptse-base-url"
        if self._bundle is None:
            return "give your organisation's certificates with --promptse-ca-bundle FILE"
        return (
            f"{self._bundle} does not contain the authority that signed it; give a file that "
            "does with --promptse-ca-bundle FILE"
        )

    @property
    def _bundle(self) -> str | None:
        return self.ca_bundle or next(filter(None, map(os.environ.get, _CA_VARIABLES)), None)


@cache
def _tls_context(
    flag: str, bundle: str | None, certificate: str | None, key: str | None
) -> ssl.SSLContext:
    """Return the TLS settings, which all clients share, since reading the authorities takes long.

    `flag` names where `bundle` comes from.
    """
    import ssl  # takes 15 ms, and many runs reach no server

    context = ssl.create_default_context()
    if bundle is not None:
        _load(flag, bundle, lambda: context.load_verify_locations(bundle))
    if key is not None and certificate is None:
        raise SettingsError(
            f"--promptse-client-key: {key} needs the certificate that it belongs to; give "
            "--promptse-client-certificate FILE"
        )
    if certificate is not None:
        _load(
            "--promptse-client-certificate",
            f"{certificate} with the key {key}" if key else certificate,
            lambda: _load_certificate(context, certificate, key),
        )
    return context


def _load(flag: str, path: str, read: Callable[[], None]) -> None:
    try:
        read()
    except FileNotFoundError:
        raise SettingsError(f"{flag}: {path} does not exist; check the path") from None
    except OSError as error:
        reason = getattr(error, "reason", "") or error.strerror
        raise SettingsError(
            f"{flag}: {path} cannot be read as PEM ({reason}); give a PEM file"
        ) from None


def _load_certificate(context: ssl.SSLContext, certificate: str, key: str | None) -> None:
    import ssl

    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except ssl.SSLError:
        # OpenSSL only says "PEM lib".
        if key is not None or b"PRIVATE KEY-----" in Path(certificate).read_bytes():
            raise
        raise SettingsError(
            f"--promptse-client-certificate: {certificate} contains no key; give the file of its "
            "key with --promptse-client-key FILE"
        ) from None


def _no_password() -> str:
    raise SettingsError(
        "--promptse-client-key: the key is encrypted; give a file with the decrypted key"
    )

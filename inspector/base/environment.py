"""Environment variables of the processes that MCP Lens starts.

By default a server gets only the standard variables: the environment of MCP Lens may hold keys and tokens
that no server should see. Proxy and certificate variables are among the standard ones, because without them
npx, uvx and many servers have no network. Names are compared as the operating system does it: on Windows,
upper and lower case are the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from urllib.parse import unquote, urlsplit

from inspector.base.redaction import Secrecy, is_secret_parameter, secrecy

_PROXY = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")
_CERTIFICATES = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("AWS_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT", "DENO_CERT", "NIX_SSL_CERT_FILE"),
)
_COMMON = (*_PROXY, *_CERTIFICATES, "LANG", "LANGUAGE", "TZ", "SSH_AUTH_SOCK")
_POSIX = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR"),
        *_COMMON,
        *(name.lower() for name in _PROXY),  # curl and others read only the lower case of http_proxy
        *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"),
        *("XDG_CONFIG_DIRS", "XDG_DATA_DIRS"),
    )
)
_WINDOWS = frozenset(
    (
        *("APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROGRAMDATA"),
        *("PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES", "SYSTEMDRIVE"),
        *("SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR", "NUMBER_OF_PROCESSORS"),
        *("OS", "PROCESSOR_ARCHITECTURE", "COMPUTERNAME", "PUBLIC"),
        *_COMMON,
    )
)
_LOCALE = "LC_"  # LC_ALL, LC_CTYPE, LC_TIME…
IS_WINDOWS = os.name == "nt"
_MIN_SECRET_LENGTH = 8  # shorter values occur by chance too often to be masked


def value_of(name: str, environment: Mapping[str, str], *, is_windows: bool = IS_WINDOWS) -> str | None:
    """Return the value of a variable; None if it is not set."""
    if not is_windows:
        return environment.get(name)
    return next((value for each, value in environment.items() if each.upper() == name.upper()), None)


def is_standard(name: str, *, is_windows: bool = IS_WINDOWS) -> bool:
    """True for a variable that every server gets if it is set."""
    name = name.upper() if is_windows else name
    return name in (_WINDOWS if is_windows else _POSIX) or name.startswith(_LOCALE)


def inherited_variables(
    environment: Mapping[str, str], *, whole: bool, is_windows: bool = IS_WINDOWS
) -> dict[str, str]:
    """Return the variables of `environment` that a server gets: the standard ones, or all of them."""
    return {
        name: value
        for name, value in environment.items()
        if whole or is_standard(name, is_windows=is_windows)
    }


def child_environment(
    environment: Mapping[str, str],
    configured: Mapping[str, str],
    *,
    whole: bool = False,
    is_windows: bool = IS_WINDOWS,
) -> dict[str, str]:
    """Return the environment of a server: the inherited variables, overridden by the configured ones."""
    inherited = inherited_variables(environment, whole=whole, is_windows=is_windows)
    merged: dict[str, tuple[str, str]] = {}
    for name, value in (*inherited.items(), *configured.items()):
        merged[name.upper() if is_windows else name] = (name, value)
    return dict(merged.values())


def secrets_in_variables(variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield name and value of each secret: by the variable's name, or within a URL such as a proxy's.

    Names that only may denote a secret do not count: `DESKTOP_SESSION` or `SSH_AUTH_SOCK` hold none.
    """
    for name, value in variables.items():
        is_secret = secrecy(name) is Secrecy.SURE and not name.upper().startswith("XDG_")
        if is_secret and len(value) >= _MIN_SECRET_LENGTH:
            yield name, value
        if "://" in value:
            yield from _secrets_in_url(name, value)


def _secrets_in_url(name: str, url: str) -> Iterator[tuple[str, str]]:
    try:
        parts = urlsplit(url)
        password = parts.password
    except ValueError:
        return
    if password:
        yield f"{name} password", password
        if unquote(password) != password:
            yield f"{name} password", unquote(password)
    for parameter in parts.query.split("&"):
        key, equals, value = parameter.partition("=")
        if equals and value and is_secret_parameter(key):
            yield f"{name} {key}", value

"""Environment variables that a server process gets."""

from __future__ import annotations

import pytest

from inspector.base.environment import (
    child_environment,
    inherited_variables,
    is_standard,
    secrets_in_variables,
    value_of,
)


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "HOME", "LANG", "LC_ALL", "LC_TIME", "TMPDIR", "TZ", "SSH_AUTH_SOCK", "XDG_CONFIG_HOME"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
        *("http_proxy", "https_proxy", "no_proxy", "all_proxy"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    ],
)
def test_proxy_certificate_and_locale_variables_are_passed_by_default(name: str) -> None:
    assert is_standard(name, is_windows=False)
    assert name in child_environment({name: "x"}, {}, is_windows=False)


@pytest.mark.parametrize(
    "name", ["GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "PYTHONPATH", "LD_PRELOAD", "path"]
)
def test_other_variables_are_not_passed_by_default(name: str) -> None:
    assert name not in child_environment({name: "x"}, {}, is_windows=False)
    assert child_environment({name: "x"}, {}, whole=True, is_windows=False) == {name: "x"}


def test_configured_variables_take_precedence() -> None:
    environment = {"LANG": "C", "OTHER": "1"}
    assert child_environment(environment, {"LANG": "de_DE"}, is_windows=False) == {"LANG": "de_DE"}
    assert child_environment(environment, {"OTHER": "2"}, whole=True, is_windows=False) == {
        "LANG": "C",
        "OTHER": "2",
    }


def test_on_windows_names_are_compared_without_case() -> None:
    environment = {"Path": "C:\\bin", "SystemRoot": "C:\\Windows", "https_proxy": "http://p", "KEY": "k"}
    inherited = inherited_variables(environment, whole=False, is_windows=True)
    assert sorted(inherited) == ["Path", "SystemRoot", "https_proxy"]
    configured = child_environment(environment, {"PATH": "D:\\bin"}, whole=True, is_windows=True)
    assert [name for name in configured if name.upper() == "PATH"] == ["PATH"]
    assert value_of("path", configured, is_windows=True) == "D:\\bin"


@pytest.mark.parametrize(
    ("name", "value", "secrets"),
    [
        ("HTTPS_PROXY", "http://user:pr0xy-pass@proxy:3128", ["pr0xy-pass"]),
        ("HTTPS_PROXY", "http://user:pr0xy%40pass@proxy:3128", ["pr0xy%40pass", "pr0xy@pass"]),
        ("HTTPS_PROXY", "http://proxy:3128", []),
        ("FEED", "https://host/x?api_key=12345678&page=2", ["12345678"]),
        ("GITHUB_TOKEN", "ghp_12345678", ["ghp_12345678"]),
        ("SSH_AUTH_SOCK", "/run/user/1000/agent", []),
        ("DESKTOP_SESSION", "gnome-classic", []),
        ("XDG_SESSION_ID", "123456789", []),
        ("API_TOKEN", "short", []),
        ("BROKEN", "http://[::1", []),
    ],
)
def test_secrets_in_variables_are_found(name: str, value: str, secrets: list[str]) -> None:
    assert [secret for _, secret in secrets_in_variables({name: value})] == secrets


def test_on_windows_the_last_of_names_that_differ_in_case_counts() -> None:
    assert child_environment({}, {"key": "1", "KEY": "2"}, is_windows=True) == {"KEY": "2"}
    assert child_environment({}, {"key": "1", "KEY": "2"}, is_windows=False) == {"key": "1", "KEY": "2"}


@pytest.mark.parametrize(
    "name",
    [
        *("PROCESSOR_ARCHITECTURE", "ProgramFiles(x86)", "ProgramW6432", "CommonProgramFiles", "PUBLIC"),
        *("NUMBER_OF_PROCESSORS", "OS", "COMPUTERNAME"),
    ],
)
def test_variables_that_programs_on_windows_rely_on_are_passed(name: str) -> None:
    assert child_environment({name: "x"}, {}, is_windows=True) == {name: "x"}

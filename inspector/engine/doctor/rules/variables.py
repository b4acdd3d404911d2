"""Diagnoses that name environment variables: set for MCP Lens, but not passed to the server.

Pure functions. `environment` is that of MCP Lens, `passed` that of the server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from inspector.base.environment import value_of
from inspector.engine.doctor.program_probe import runtime_of
from inspector.engine.doctor.results import Action, ActionKind, Diagnosis

# Variables that may have caused a failure, by the id of its diagnosis. Most are passed by default.
_REGISTRY = (
    *("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"),
    *("NODE_USE_ENV_PROXY", "npm_config_proxy", "npm_config_https_proxy", "npm_config_registry"),
    *("NPM_CONFIG_PROXY", "NPM_CONFIG_HTTPS_PROXY", "NPM_CONFIG_REGISTRY", "NPM_CONFIG_USERCONFIG"),
    *("PIP_PROXY", "PIP_INDEX_URL", "PIP_CONFIG_FILE", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX"),
    *("UV_CONFIG_FILE", "BUN_CONFIG_REGISTRY"),
)
_CERTIFICATES = (
    *("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("NODE_USE_SYSTEM_CA", "NODE_OPTIONS", "npm_config_cafile", "NPM_CONFIG_CAFILE", "PIP_CERT"),
    *("UV_NATIVE_TLS", "UV_SYSTEM_CERTS", "AWS_CA_BUNDLE", "GIT_SSL_CAINFO", "DENO_CERT"),
)
_DOCKER = ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "CONTAINER_HOST")
_FITTING: dict[str, tuple[str, ...]] = {
    "installer-distrusts": _CERTIFICATES,
    "installer-offline": _REGISTRY,
    "npm-package-missing": _REGISTRY,
    "python-package-missing": _REGISTRY,
    "docker-down": _DOCKER,
    "image-missing": _DOCKER,
}
# Failures whose output may name a variable.
_NAMED_IN_OUTPUT = ("variable-missing", "raised", "exited", "ended-at-once", "log-only")
_NAME = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b|\b[A-Z][A-Z0-9]{4,}\b")
# The variable that names additional certificate authorities, by runtime. Each reads only its own.
_CA_VARIABLES = {
    "NODE_EXTRA_CA_CERTS": ("Node.js", "npx", "npm"),
    "SSL_CERT_FILE": ("Python", "uv", "uvx", "pipx"),
}
_MAX_NAMES = 5


def name_variables(
    diagnosis: Diagnosis,
    lines: Sequence[str],
    command: str,
    environment: Mapping[str, str],
    passed: Mapping[str, str],
) -> Diagnosis:
    """Return the diagnosis with the variables that fit the failure, if there are any.

    `lines` is the output of the server.
    """
    candidates: Iterable[str] = _FITTING.get(diagnosis.id, ())
    if diagnosis.id in _NAMED_IN_OUTPUT:
        candidates = [name for line in lines for name in _NAME.findall(line)]
    fitting = (
        _spelled(name, environment)
        for name in candidates
        if value_of(name, environment) is not None and value_of(name, passed) is None
    )
    names = list(dict.fromkeys(fitting))[:_MAX_NAMES]
    if names:
        return _not_passed(diagnosis, names)
    if diagnosis.id == "installer-distrusts":
        return _name_ca_variable(diagnosis, command, passed)
    return diagnosis


def _spelled(name: str, environment: Mapping[str, str]) -> str:
    """Return the name as it is in the environment; on Windows, the case may differ."""
    names = list(environment)  # `os.environ` accepts any case there
    return name if name in names else next(each for each in names if each.upper() == name.upper())


def _not_passed(diagnosis: Diagnosis, names: Sequence[str]) -> Diagnosis:
    listed = ", ".join(names)
    many, are, them = ("s", "are", "them") if len(names) > 1 else ("", "is", "it")
    is_named = diagnosis.id in _NAMED_IN_OUTPUT
    cause = f"The environment variable{many} {listed} {are} set for MCP Lens, but not passed to the server"
    return replace(
        diagnosis,
        id="variable-not-passed",
        cause=f"{cause}, whose output mentions {them}." if is_named else f"{diagnosis.cause} {cause}.",
        fix=f"Pass {them} to the server (--env {names[0]} on the command line), or turn on “Pass my whole "
        "environment” in Server ▸ Edit server.",
        action=Action(ActionKind.ADD_VARIABLES, f"Pass {listed}", " ".join(names)),
    )


def _name_ca_variable(diagnosis: Diagnosis, command: str, passed: Mapping[str, str]) -> Diagnosis:
    """Name the variable that the server's runtime reads, if another one names a CA file."""
    runtime = runtime_of(command)
    own = next((name for name, users in _CA_VARIABLES.items() if runtime and runtime.name in users), None)
    other = next((name for name in _CA_VARIABLES if value_of(name, passed) is not None), None)
    if runtime is None or own is None or other is None or value_of(own, passed) is not None:
        return diagnosis
    return replace(
        diagnosis,
        cause=f"{diagnosis.cause} {other} is passed to it, but {runtime.name} reads {own}.",
        fix=f"Add the variable {own} with the value ${{{other}}} in Server ▸ Edit server ▸ Environment.",
    )

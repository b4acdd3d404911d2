"""What an authorization server supports by its metadata, and what is wrong with that.

Absent members have a meaning too, so each trait says whether it was stated or is the default.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from inspector.base.json.values import quote_names
from inspector.protocol.auth.findings.finding import Finding, finding
from inspector.protocol.auth.scopes import OFFLINE
from inspector.protocol.auth.server_metadata import MetadataSource, Pkce, ServerMetadata
from inspector.protocol.auth.token_request import ID_JAG_PROFILE
from inspector.protocol.revisions import Revision


def check_support(
    metadata: ServerMetadata, revision: Revision, *, needs_code: bool = True, has_secret: bool = False
) -> tuple[Finding, ...]:
    """Return what is wrong with what the server supports.

    `needs_code` is False for a login without a browser; with `has_secret` the client need not be public.
    """
    if metadata.source is MetadataSource.DEFAULTS:
        return ()  # nothing was stated
    found = [
        *_check_methods(metadata, revision, needs_code and not has_secret),
        *_check_dpop(metadata, revision),
    ]
    if needs_code:
        found += _check_code_flow(metadata, revision)
        found += _check_pkce(metadata, revision)
        found += _check_registration(metadata, revision, has_secret)
        found += _check_refresh(metadata, revision)
    return tuple(sorted(found, key=lambda one: one.id))


def _check_code_flow(metadata: ServerMetadata, revision: Revision) -> Iterator[Finding]:
    if "code" not in (metadata.response_types or ()):
        types = (
            "absent" if metadata.response_types is None else quote_names(metadata.response_types) or "empty"
        )
        yield finding("ASM-010", revision, types=types)
    if "authorization_code" not in metadata.effective_grants:
        yield finding("ASM-014", revision, grants=quote_names(metadata.effective_grants) or "empty")
    if not metadata.advertises_iss:
        yield finding("ASM-019", revision)


def _check_pkce(metadata: ServerMetadata, revision: Revision) -> Iterator[Finding]:
    methods = metadata.challenge_methods or ()
    if metadata.pkce is Pkce.NOT_DECLARED:
        yield finding("ASM-006", revision)
    elif metadata.pkce is Pkce.NOT_OFFERED:
        yield finding("ASM-007", revision, methods=quote_names(methods) or "nothing")
    elif "plain" in methods:
        yield finding("ASM-008", revision)


def _check_registration(metadata: ServerMetadata, revision: Revision, has_secret: bool) -> Iterator[Finding]:
    if metadata.supports_client_id_metadata:
        return
    if metadata.registration_endpoint is not None:
        yield finding("ASM-016", revision)
    elif not has_secret:
        yield finding("ASM-015", revision)


def _check_methods(metadata: ServerMetadata, revision: Revision, is_public: bool) -> Iterator[Finding]:
    methods = metadata.auth_methods
    if methods is None:
        yield finding("ASM-018", revision)
    elif is_public and "none" not in methods:
        yield finding("ASM-017", revision, methods=quote_names(methods) or "empty")


def _check_refresh(metadata: ServerMetadata, revision: Revision) -> Iterator[Finding]:
    if "refresh_token" not in metadata.effective_grants and OFFLINE not in (metadata.scopes or ()):
        yield finding("ASM-022", revision)


def _check_dpop(metadata: ServerMetadata, revision: Revision) -> Iterator[Finding]:
    algorithms = metadata.dpop_algorithms
    if algorithms is None:
        return
    bad = [name for name in algorithms if name.lower() == "none" or name.upper().startswith("HS")]
    problem = f"{quote_names(bad)} cannot be used" if bad else "" if algorithms else "it is empty"
    if problem:
        yield finding("ASM-023", revision, algorithms=quote_names(algorithms) or "an array", problem=problem)


@dataclass(frozen=True, slots=True)
class SupportTrait:
    """A feature that a server has or lacks, for a list."""

    name: str
    value: str  # in a word or two
    meaning: str  # origin and consequence, as a sentence
    is_stated: bool  # False: implied by an absent member


def support_traits(metadata: ServerMetadata) -> tuple[SupportTrait, ...]:
    """Return the server's features, as stated or as implied by absence."""
    return (
        SupportTrait("PKCE", *_pkce_text(metadata), metadata.challenge_methods is not None),
        _flag(
            metadata,
            "Client ID metadata documents",
            "client_id_metadata_document_supported",
            "The client ID can be an https URL.",
            "The client ID must come from registration.",
        ),
        _registration(metadata),
        _flag(
            metadata,
            "iss in the authorization response",
            "authorization_response_iss_parameter_supported",
            "Every authorization response must contain iss, and it must match the issuer.",
            "iss may be absent; if present, it must match the issuer.",
        ),
        _listed("Client authentication methods", metadata.auth_methods, metadata.effective_auth_methods),
        _listed("Grant types", metadata.grant_types, metadata.effective_grants),
        _listed("Response modes", metadata.response_modes, metadata.effective_response_modes),
        _offline(metadata),
        _choice(
            "DPoP",
            metadata.dpop_algorithms,
            "Tokens can be bound to a key: {}.",
            "Tokens are plain Bearer tokens.",
        ),
        SupportTrait(
            "Enterprise-managed authorization",
            "yes" if ID_JAG_PROFILE in (metadata.grant_profiles or ()) else "no",
            "According to authorization_grant_profiles_supported.",
            metadata.grant_profiles is not None,
        ),
    )


def _pkce_text(metadata: ServerMetadata) -> tuple[str, str]:
    return {
        Pkce.S256: ("S256", "A stolen authorization code cannot be used."),
        Pkce.NOT_DECLARED: (
            "not advertised",
            "Since 2025-11-25, clients must refuse; in earlier versions, S256 is sent anyway.",
        ),
        Pkce.NOT_OFFERED: ("no S256", "The listed methods do not protect the authorization code."),
        Pkce.UNKNOWN: ("unknown", "There is no metadata. S256 is sent anyway."),
    }[metadata.pkce]


def _flag(metadata: ServerMetadata, name: str, member: str, yes: str, no: str) -> SupportTrait:
    value = metadata.content.get(member)
    if value is True:
        return SupportTrait(name, "yes", yes, is_stated=True)
    return SupportTrait(name, "no" if value is False else "no (not stated)", no, is_stated=value is False)


def _registration(metadata: ServerMetadata) -> SupportTrait:
    endpoint = metadata.registration_endpoint
    if endpoint is None:
        return SupportTrait(
            "Dynamic client registration", "no", "There is no usable registration_endpoint.", is_stated=False
        )
    return SupportTrait(
        "Dynamic client registration",
        "yes",
        f"At {endpoint.url}.",
        is_stated=metadata.source is not MetadataSource.DEFAULTS,
    )


def _listed(name: str, stated: tuple[str, ...] | None, effective: tuple[str, ...]) -> SupportTrait:
    meaning = "As stated in the metadata." if stated is not None else "Not stated; RFC 8414 default."
    return SupportTrait(name, quote_names(effective) or "none", meaning, stated is not None)


def _offline(metadata: ServerMetadata) -> SupportTrait:
    if OFFLINE in (metadata.scopes or ()):
        return SupportTrait(
            "offline_access", "yes", "MCP Lens requests it to get a refresh token.", is_stated=True
        )
    meaning = "Not in scopes_supported, so MCP Lens never requests it."
    return SupportTrait("offline_access", "no", meaning, metadata.scopes is not None)


def _choice(name: str, stated: tuple[str, ...] | None, yes: str, no: str) -> SupportTrait:
    if stated:
        return SupportTrait(name, "yes", yes.format(quote_names(stated)), is_stated=True)
    return SupportTrait(name, "no", no, stated is not None)

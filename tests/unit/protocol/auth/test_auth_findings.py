"""The table of findings, and findings made from it."""

from __future__ import annotations

import re
from string import Formatter

import pytest

from inspector.protocol.auth.findings.finding import FINDING_TEMPLATES, MAX_QUOTE_LENGTH, Severity, finding
from inspector.protocol.revisions import R2, R3, R4, R5, REVISIONS, Revision

# Number of findings per family.
FAMILIES = {"AUTH": 13, "PRM": 16, "ASM": 25, "REG": 12, "AZ": 10, "TOK": 19, "RS": 12, "IDT": 13}


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def all_placeholders(id: str) -> set[str]:
    template = FINDING_TEMPLATES[id]
    return placeholders(template.seen) | placeholders(template.rule) | placeholders(template.fix)


def test_every_family_is_complete_and_numbered_without_a_gap() -> None:
    expected = {
        f"{family}-{number:03}" for family, count in FAMILIES.items() for number in range(1, count + 1)
    }

    assert set(FINDING_TEMPLATES) == expected


@pytest.mark.parametrize("id", FINDING_TEMPLATES)
def test_template_has_three_sentences_and_the_last_says_who_must_act(id: str) -> None:
    template = FINDING_TEMPLATES[id]

    assert all(
        text.endswith(".") and "  " not in text for text in (template.seen, template.rule, template.fix)
    )
    assert re.match(
        "(MCP server|Authorization server|Identity provider|You)( or MCP server| or you)?: ", template.fix
    )


@pytest.mark.parametrize("id", FINDING_TEMPLATES)
@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_every_finding_can_be_created_with_its_placeholders_filled(id: str, revision: Revision) -> None:
    made = finding(id, revision, **dict.fromkeys(all_placeholders(id), "❖"))

    assert made.id == id
    assert ("❖" in made.text) == bool(all_placeholders(id))
    assert not placeholders(made.text)
    assert made.severity is Severity.ERROR or not made.stops


@pytest.mark.parametrize(
    ("id", "revision", "severity"),
    [
        ("AUTH-003", R2, Severity.INFO),
        ("AUTH-003", R3, Severity.ERROR),
        ("AUTH-003", R4, Severity.WARNING),
        ("AUTH-003", R5, Severity.WARNING),
        ("AUTH-010", R3, Severity.INFO),
        ("AUTH-010", R4, Severity.WARNING),
        ("AUTH-011", R4, Severity.INFO),
        ("AUTH-011", R5, Severity.WARNING),
        ("ASM-006", R3, Severity.INFO),
        ("ASM-006", R4, Severity.ERROR),
        ("ASM-007", R3, Severity.WARNING),
        ("ASM-007", R4, Severity.ERROR),
        ("AZ-003", R4, Severity.WARNING),
        ("AZ-003", R5, Severity.ERROR),
    ],
)
def test_severity_depends_on_the_protocol_version(id: str, revision: Revision, severity: Severity) -> None:
    assert finding(id, revision, **dict.fromkeys(all_placeholders(id), "x")).severity is severity


def test_findings_about_wrong_state_issuer_or_forbidden_url_always_stop() -> None:
    for id in ("AZ-001", "AZ-002", "AZ-003", "AZ-004", "ASM-002", "ASM-011", "ASM-012"):
        assert finding(id, R5, **dict.fromkeys(all_placeholders(id), "x")).stops


def test_missing_placeholder_is_an_internal_error() -> None:
    with pytest.raises(KeyError):
        finding("AUTH-001", R5)


def test_server_text_is_shortened_and_shown_with_its_hidden_characters() -> None:
    made = finding("AUTH-009", R5, schemes="Ba\x1bsic\n\u202e{oops}" + "x" * 500, evidence="\x00" + "y" * 500)

    assert "Ba␛sic ⟨U+202E⟩{oops}xx" in made.seen
    assert len(made.seen) < 220
    assert made.evidence.startswith("␀yy")
    assert made.evidence.endswith("…")
    assert len(made.evidence) == MAX_QUOTE_LENGTH


def test_several_values_are_listed() -> None:
    assert "lists plain, S512, not S256" in finding("ASM-007", R5, methods=["plain", "S512"]).seen
    many = finding("ASM-007", R5, methods=[f"m{i}" for i in range(1000)]).seen
    assert "m7 and 992 more" in many
    assert "returned 503 for" in finding("AUTH-001", R5, status=503).seen

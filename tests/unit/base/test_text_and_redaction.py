"""Display text: hidden characters as tokens, masked secrets, numbers with units."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.errors import ConnectFailed, UserError
from inspector.base.plain_text import one_line, visible, visible_line
from inspector.base.redaction import Redactor, Secrecy, is_secret_name, masked_command, masked_url, secrecy
from inspector.base.units import duration, full_time, plural, size, time_of_day

MS = 1_000_000
SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, Grüße, 日本語, 🎉", "plain text, Grüße, 日本語, 🎉"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("\x1b[31mred", "␛[31mred"),
        ("over\rwritten", "over␍written"),
        ("a\x7fb", "a␡b"),
        ("user\u202egnp.exe", "user⟨U+202E⟩gnp.exe"),
        ("zero\u200bwidth", "zero⟨U+200B⟩width"),
        ("tag\U000e0041", "tag⟨U+E0041⟩"),
        ("half \ud83d", "half ⟨U+D83D⟩"),
        ("c1 \x9b31m", "c1 ⟨U+009B⟩31m"),
        ("a\u3164b\u1160\u034f\u206a", "a⟨U+3164⟩b⟨U+1160⟩⟨U+034F⟩⟨U+206A⟩"),
        ("a\u200db", "a⟨U+200D⟩b"),
        ("👩\u200d", "👩⟨U+200D⟩"),
        ("👩\u200d\u200d💻", "👩⟨U+200D⟩⟨U+200D⟩💻"),
        ("a\ufe0f1\ufe0f", "a⟨U+FE0F⟩1⟨U+FE0F⟩"),
        ("❤\ufe0f\ufe0f", "❤\ufe0f⟨U+FE0F⟩"),
        ("❤\ufe03葛\U000e0100\U000e0101", "❤⟨U+FE03⟩葛\U000e0100⟨U+E0101⟩"),
    ],
)
def test_hidden_characters_are_shown_as_tokens(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "👩\u200d💻",
        "👨🏽\u200d🚀",
        "❤\ufe0f\u200d🔥",
        "🏳\ufe0f\u200d🌈",
        "1\ufe0f\u20e3",
        "☎\ufe0e",
        "葛\U000e0100",
    ],
)
def test_emoji_joiners_and_modifiers_are_kept(text: str) -> None:
    assert visible(text) == text


@given(st.text("ab1#\u20e3👩💻🏽❤葛\u200d\ufe0e\ufe0f\ufe00\U000e0100\u200b\u202e"))
def test_invisible_characters_kept_only_modify_the_preceding_character(text: str) -> None:
    shown = visible(text)
    assert visible(shown) == shown
    emoji = "[👩💻🏽❤]"
    rest = re.sub(rf"{emoji}(\ufe0f?\u200d(?={emoji})|[\ufe0e\ufe0f])?", "", shown)
    rest = re.sub(r"[1#][\ufe0e\ufe0f]\u20e3|葛[\ufe00\U000e0100]", "", rest)
    assert not re.search("[\u200b\u200d\u202e\ufe00-\ufe0f\U000e0100]", rest)
    assert re.sub("⟨U.([0-9A-F]+)⟩", lambda token: chr(int(token[1], 16)), shown) == text, "nothing is lost"


@given(st.text())
def test_displayed_text_is_encodable_and_has_no_terminal_escapes(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)


def test_one_line_text_cannot_imitate_another_line() -> None:
    assert visible_line("a\nb\u2028c\u2029d\te\x0bf\x85") == "a␊b⟨U+2028⟩c⟨U+2029⟩d␉e␋f⟨U+0085⟩"
    assert len(visible_line("--x\u2029--y").splitlines()) == 1


@given(st.text())
def test_one_line_text_has_no_line_break(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "X-Api-Key",
        "API_KEY",
        "apikey",
        "GITHUB_TOKEN",
        "db.password",
        "Cookie",
        "client_secret",
        "accessToken",
        "code_verifier",
        "client_assertion",
        "Mcp-Session-Id",
        "requestState",
        "DPoP",
    ],
)
def test_names_that_usually_hold_a_secret_are_recognized(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "monkey", "max_tokens", "Content-Type", "author", "passenger", "keyboard", "progressToken"),
        *("token_endpoint", "token_type", "token_endpoint_auth_methods_supported", "jwks_uri", "tokenUrl"),
    ],
)
def test_ordinary_names_are_not_treated_as_secret(name: str) -> None:
    assert not is_secret_name(name)


def test_one_secret_has_one_placeholder_everywhere() -> None:
    redactor = Redactor()
    assert [redactor.mask(secret) for secret in ("abc", "xyz", "abc")] == [
        "‹secret 1›",
        "‹secret 2›",
        "‹secret 1›",
    ]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["server", "--api-key", "s3cr3t", "--port", "80"], ["server", "--api-key", "•••", "--port", "80"]),
        (["server", "--token=s3cr3t"], ["server", "--token=•••"]),
        (["env", "API_KEY=s3cr3t", "x"], ["env", "API_KEY=•••", "x"]),
        (["server", "sk-abc123"], ["server", "•••"]),
        (["server", "--token", "--verbose"], ["server", "--token", "--verbose"]),
        (["curl", "https://h/x?accessToken=s3cr3t&page=2"], ["curl", "https://h/x?accessToken=•••&page=2"]),
        (["-H", "Authorization: Bearer s3cr3t"], ["-H", "Authorization: Bearer •••"]),
        (["--header", "X-Api-Key:s3cr3t"], ["--header", "X-Api-Key:•••"]),
        (["--header=Authorization: Basic s3=="], ["--header=Authorization: Basic •••"]),
        (["--dsn=postgres://ann:s3cr3t@db/x"], ["--dsn=postgres://•••@db/x"]),
        (["DSN=postgres://ann:s3cr3t@db/x"], ["DSN=postgres://•••@db/x"]),
        (["Accept: text/html", "auth:1.2", "token://x"], ["Accept: text/html", "auth:1.2", "token://x"]),
    ],
)
def test_a_command_line_is_shown_without_its_secrets(words: list[str], shown: list[str]) -> None:
    assert masked_command(words) == shown


def test_url_is_shown_without_its_userinfo_and_secret_parameters() -> None:
    assert masked_url("https://me:pw@host/p?q=1&api_key=x#f") == "https://•••@host/p?q=1&api_key=•••#f"
    assert masked_url("http://[") == "http://["
    assert masked_url("http://h/cb?a=1#access_token=x&a=2") == "http://h/cb?a=1#access_token=•••&a=2"
    assert masked_url("http://127.0.0.1/callback?code=x&state=y&iss=z").endswith("?code=•••&state=•••&iss=z")


def test_possibly_secret_names_are_distinguished_from_definitely_secret_ones() -> None:
    assert [secrecy(name) for name in ("api_key", "primaryKey", "color")] == [
        Secrecy.SURE,
        Secrecy.LIKELY,
        Secrecy.NONE,
    ]


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0.0 ms"),
        (800_000, "0.8 ms"),
        (42 * MS, "42 ms"),
        (999 * MS, "999 ms"),
        (999_700_000, "1.00 s"),
        (1240 * MS, "1.24 s"),
        (59_998 * MS, "1 min 00 s"),
        (185 * SECOND, "3 min 05 s"),
    ],
)
def test_durations_are_readable_on_both_sides_of_a_unit(nanoseconds: int, text: str) -> None:
    assert duration(nanoseconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (312, "312 B"),
        (1023, "1023 B"),
        (4200, "4.1 KiB"),
        (2**20 - 1, "1.0 MiB"),
        (50 * 2**20, "50 MiB"),
        (5000 * 2**30, "5000 GiB"),
    ],
)
def test_sizes_are_readable_on_both_sides_of_a_unit(count: int, text: str) -> None:
    assert size(count) == text


def test_counts_agree_with_their_noun() -> None:
    assert [plural(count, "tool") for count in (0, 1, 10_000)] == ["0 tools", "1 tool", "10,000 tools"]
    counted = [plural(2, noun) for noun in ("property", "key", "branch", "box", "class", "y")]
    assert counted == ["2 properties", "2 keys", "2 branches", "2 boxes", "2 classes", "2 ys"]


def test_times_keep_their_measured_precision() -> None:
    moment = 1_763_298_187_482_193_512
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.482", time_of_day(moment))
    assert re.fullmatch(r"2025-11-1\d \d\d:\d\d:\d\d\.482193512 [+-]\d\d:\d\d", full_time(moment))


def test_user_error_has_a_cause_and_a_next_step() -> None:
    error = ConnectFailed("Not found.", "Install it.")
    assert str(error) == "Not found. Install it."
    assert str(UserError("Not found.")) == "Not found."

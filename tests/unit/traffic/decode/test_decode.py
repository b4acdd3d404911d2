"""Decoding of encoded data in messages."""

from __future__ import annotations

import base64
import gzip
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, to_wire
from inspector.traffic.decode.decodings import Decoding, DecodingKind
from inspector.traffic.decode.finder import MAX_DECODINGS, find_decodings

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(60))
texts = st.text(max_size=30) | st.sampled_from(
    ["```json\n{", "eyJ.eyJ.", "data:;base64,", "%%%41%", "http://[x?a=b", "H4sI", "{}", "[" * 3_000, "<svg"]
)
values: st.SearchStrategy[JSON] = st.recursive(
    texts | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def token(claims: JSON, signature: str = "c2ln") -> str:
    parts = [{"alg": "HS256", "typ": "JWT"}, claims]
    packed = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*packed, signature])


def only(value: JSON | bytes) -> Decoding:
    (decoding,) = find_decodings(value)
    return decoding


@given(st.binary(max_size=80) | values.map(to_wire))
def test_any_bytes_can_be_decoded(raw: bytes) -> None:
    found = find_decodings(raw)
    assert pickle.loads(pickle.dumps(found)) == found


@given(values)
def test_any_value_can_be_decoded(value: JSON) -> None:
    assert len(find_decodings(value)) <= MAX_DECODINGS


@given(st.binary(max_size=40))
def test_any_compressed_bytes_can_be_decoded(data: bytes) -> None:
    member: JSON = {"mimeType": "image/png", "data": b64(data)}
    found = find_decodings([b64(data), member, b64(gzip.compress(data)), b64(b"\x1f\x8b\x08" + data)])
    assert all(one.path for one in found)


@pytest.mark.parametrize(
    "text",
    [
        "4f5a1c9d8e7b6a5f4f5a1c9d8e7b6a5f",
        "123e4567-e89b-12d3-a456-426614174000",
        "/usr/local/lib/python3/dist-packages",
        "notifications/initialized",
        "antidisestablishmentarianism",
        "This is {not} JSON.",
        "100% sure? yes",
        "[]",
        "1234567890123456",
    ],
)
def test_values_with_nothing_to_decode_are_left_alone(text: str) -> None:
    assert find_decodings({"text": text}) == ()


def test_text_in_base64_is_decoded_in_either_alphabet() -> None:
    text = "Is this a text? Yes — ÿÿÿ it is."
    for packed in (b64(text.encode()), base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")):
        found = only({"result": {"x": packed}})
        assert (found.path, found.kind, found.text) == ("result.x › base64", DecodingKind.TEXT, text)


def test_base64_with_line_breaks_is_decoded() -> None:
    assert only([base64.encodebytes(b"a long text " * 20).decode()]).text == "a long text " * 20


@pytest.mark.parametrize(
    ("data", "kind", "mime_type"),
    [
        (PNG, DecodingKind.IMAGE, "image/png"),
        (b"\xff\xd8\xff\xe0" + bytes(20), DecodingKind.IMAGE, "image/jpeg"),
        (b"GIF89a" + bytes(20), DecodingKind.IMAGE, "image/gif"),
        (b"RIFF\x20\0\0\0WEBP" + bytes(20), DecodingKind.IMAGE, "image/webp"),
        (b"RIFF\x20\0\0\0WAVE" + bytes(20), DecodingKind.AUDIO, "audio/wav"),
        (b"ID3\x03" + bytes(20), DecodingKind.AUDIO, "audio/mpeg"),
        (b"OggS" + bytes(20), DecodingKind.AUDIO, "audio/ogg"),
    ],
)
def test_files_are_recognized_by_their_first_bytes(data: bytes, kind: DecodingKind, mime_type: str) -> None:
    found = only({"x": b64(data)})
    assert (found.kind, found.mime_type, found.data) == (kind, mime_type, data)
    assert only(data).kind is kind


def test_file_that_contradicts_its_declared_type_is_mentioned() -> None:
    content: JSON = {"content": [{"type": "image", "mimeType": "image/jpeg", "data": b64(PNG)}]}
    found = only(content)
    assert found.path == "content[0].data › base64"
    assert found.note == "It is declared as image/jpeg, but its bytes are image/png."
    assert only({"mimeType": "image/png", "data": b64(PNG)}).note == ""


def test_blob_member_is_decoded_whatever_it_contains() -> None:
    found = only({"uri": "file:///x", "mimeType": "application/x-thing", "blob": b64(b"\x00\x01\x02")})
    assert (found.kind, found.data) == (DecodingKind.BINARY, b"\x00\x01\x02")
    assert found.mime_type == "application/x-thing"


def test_svg_is_always_treated_as_text() -> None:
    image = '<?xml version="1.0"?>\n<svg onload="alert(1)"/>'
    for value in ({"text": image}, {"mimeType": "image/svg+xml", "data": b64(image.encode())}):
        found = only(to_wire(value))  # type: ignore[arg-type]
        assert (found.kind, found.data, found.text) == (DecodingKind.TEXT, b"", image)
        assert "only as text" in found.note


def test_a_data_url_is_decoded() -> None:
    found = only({"icon": f"data:image/png;base64,{b64(PNG)}"})
    assert (found.path, found.kind, found.data) == ("icon › data URL", DecodingKind.IMAGE, PNG)


def test_json_in_text_is_formatted_with_its_numbers_as_written() -> None:
    found = only({"text": ' {"a": [1.10]} '})
    assert (found.kind, found.text) == (DecodingKind.JSON, '{\n  "a": [\n    1.10\n  ]\n}')


def test_json_in_code_fences_is_found() -> None:
    text = 'Here:\n```json\n{"a": 1}\n```\nand\n```\n[1, 2]\n```\n```\nno json\n```'
    assert [one.title for one in find_decodings([text])] == ["JSON object", "JSON array"]


def test_a_token_is_decoded_and_kept_secret() -> None:
    found = only({"header": f"Bearer {token({'sub': 'ann', 'exp': 1_700_000_000})}"})
    assert (found.kind, found.is_secret, found.note) == (
        DecodingKind.JWT,
        True,
        "The signature was not verified.",
    )
    assert '"sub": "ann"' in found.text
    assert "exp: expires 2023-11-14 22:13:20 UTC" in found.text


def test_a_token_without_a_signature_or_with_impossible_times_is_decoded() -> None:
    found = only([token({"exp": 1e300, "iat": True}, signature="")])
    assert "not signed" in found.note
    assert "at an invalid time" in found.text


def test_text_full_of_token_prefixes_is_abandoned_early() -> None:
    assert find_decodings(["eyJ" * 100_000]) == ()
    assert len(find_decodings(["eyJhbGciOiJub25lIn0." * 5_000])) == 5


def test_a_url_is_shown_with_its_parameters() -> None:
    found = only({"url": "https://example.org/a%20b?q=x%26y&access_token=abc#top"})
    assert found.text == "https://example.org/a b\n  q = x&y\n  access_token = abc\n  # top"
    assert found.is_secret
    assert not only(["https://example.org/?page=2"]).is_secret


def test_a_percent_encoded_text_is_decoded() -> None:
    assert only(["caf%C3%A9%20au%20lait"]).text == "café au lait"


def test_nested_encodings_are_decoded_three_levels_deep() -> None:
    inner = {"token": token({"note": b64(b"a text that nobody looks for")})}
    found = find_decodings({"x": b64(json.dumps(inner).encode())})
    assert [(one.path, one.kind) for one in found] == [
        ("x › base64", DecodingKind.TEXT),
        ("x › base64 › JSON", DecodingKind.JSON),
        ("x › base64 › JSON › token › JWT", DecodingKind.JWT),
    ]


def test_gzip_content_is_unpacked_as_far_as_is_safe() -> None:
    assert only([b64(gzip.compress(b"packed text"))]).text == "packed text"
    bomb = only([b64(gzip.compress(b"a" * 50_000_000))])
    assert len(bomb.text) <= 1_048_576
    assert bomb.note == "Only the first 1.0 MiB were unpacked."


def test_non_json_body_is_decoded_as_one_text() -> None:
    assert only(b"see\n```\n[1, 2]\n```\n").kind is DecodingKind.JSON


def test_the_work_is_bounded() -> None:
    assert len(find_decodings([b64(b"one of many texts")] * 500)) == MAX_DECODINGS
    many: list[JSON] = ["some words"] * 3_000
    assert find_decodings([*many, b64(b"a text that comes late")]) == ()
    deep: JSON = b64(b"a text that is deep down")
    for _ in range(50_000):
        deep = [deep]
    assert find_decodings(deep) == ()

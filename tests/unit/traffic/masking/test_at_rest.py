"""Capture files contain no login secrets, header secrets or credentials; the log still does."""

from __future__ import annotations

import base64
import json
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

from inspector.base.clock import SystemClock
from inspector.protocol.jsonrpc import read
from inspector.traffic.captures import recording as recording_module
from inspector.traffic.captures.capture import open_capture
from inspector.traffic.captures.recording import Recording
from inspector.traffic.credentials import Credentials
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.at_rest import AtRestMasker
from inspector.traffic.masking.masker import Masker, find_secrets
from inspector.traffic.masking.secret_scan import in_base64
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import HttpExchange, RecordKind, RowNote

TOKEN = "mark3r/Qz7+token-0001"
FORM = b"grant_type=authorization_code&code=Mark3r-code-1&client_id=me"
EXCHANGE = HttpExchange(
    "POST",
    "https://as.example/token?api_key=Mark3r-key-1&page=2",
    (("Authorization", f"Bearer {TOKEN}"), ("Accept", "application/json"), ("Cookie", "sid=Mark3r-cookie-1")),
    10,
    status=200,
    http_version="HTTP/1.1",
    response_headers=(("Set-Cookie", "sid=Mark3r-cookie-2; Path=/"), ("Content-Type", "application/json")),
    error="",
    body=b'{"access_token":"Mark3r-access-1","token_type":"Bearer","expires_in":60}',
    is_over=True,
)


def _message(text: str) -> bytes:
    return json.dumps(
        {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": text}}
    ).encode()


def _files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


@pytest.fixture
def log() -> TrafficLog:
    return TrafficLog()


@pytest.fixture
def recorder(log: TrafficLog) -> Recorder:
    return Recorder(log, "shop", SystemClock())


def _receive(recorder: Recorder, text: str) -> int:
    """Record a notification with a text in it; return its row."""
    message = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": f"as {text}!"}}
    return recorder.received([read(json.dumps(message).encode())], 0)[0]


def _put_exchange(recorder: Recorder, exchange: HttpExchange) -> int:
    recorder.http.requested(1, exchange, 0, 0, -1)
    return recorder.http.row_of(1)


def test_login_request_is_masked_in_the_file_and_complete_in_the_log(
    log: TrafficLog, recorder: Recorder, tmp_path: Path
) -> None:
    with closing(Recording(log, tmp_path / "a.mcpcap")) as recording:
        row = recorder.login_body(FORM)
        recorder.note(
            RecordKind.LOGIN, "Came back to http://127.0.0.1:1/callback?code=Mark3r-code-1&state=xyz9"
        )
        assert recording.flush()
        assert b"Mark3r" not in _files(tmp_path)
        assert b"xyz9" not in _files(tmp_path)
        assert log.raw(row) == FORM
    stored = open_capture(tmp_path / "a.mcpcap").log
    assert stored.raw(row) == b"grant_type=authorization_code&code=~secret-1-code~&client_id=me"
    assert stored.kept(row) == stored.size(row) == len(stored.raw(row))
    assert stored.raw(row + 1).endswith(b"callback?code=~secret-1-code~&state=~secret-2-state~")


def test_exchange_is_masked_in_the_file_and_read_back_in_full(
    log: TrafficLog, recorder: Recorder, tmp_path: Path
) -> None:
    with closing(Recording(log, tmp_path / "a.mcpcap")) as recording:
        row = _put_exchange(recorder, EXCHANGE)
        assert recording.flush()
        assert log.http_in_memory() == {}  # let go: what follows comes from the file
        assert log.http(row) == EXCHANGE
        assert b"Mark3r" not in _files(tmp_path)
        assert TOKEN.encode() not in _files(tmp_path)
    assert log.http(row) == EXCHANGE
    stored = open_capture(tmp_path / "a.mcpcap").log.http(row)
    assert stored is not None
    assert stored.url == "https://as.example/token?api_key=~secret-1-api-key~&page=2"
    assert stored.request_headers == (
        ("Authorization", "Bearer ~secret-2-Authorization~"),
        ("Accept", "application/json"),
        ("Cookie", "sid=~secret-3-cookie-sid~"),
    )
    assert stored.response_headers[0] == ("Set-Cookie", "sid=~secret-4-cookie-sid~; Path=/")
    assert stored.body == b'{"access_token":"~secret-5-access-token~","token_type":"Bearer","expires_in":60}'


def test_the_same_secret_has_the_same_placeholder_in_every_row(
    log: TrafficLog, recorder: Recorder, tmp_path: Path
) -> None:
    with closing(Recording(log, tmp_path / "a.mcpcap")):
        first, second = recorder.login_body(FORM), recorder.login_body(FORM)
    stored = open_capture(tmp_path / "a.mcpcap").log
    assert stored.raw(first) == stored.raw(second)


def test_messages_are_written_byte_for_byte(log: TrafficLog, recorder: Recorder, tmp_path: Path) -> None:
    reported = _message('password: "hunter2-Zz9", token=Mark3r-anything-1')
    with closing(Recording(log, tmp_path / "a.mcpcap")):
        row = recorder.received([read(reported)], 0)[0]
    assert open_capture(tmp_path / "a.mcpcap").log.raw(row) == reported


@pytest.mark.parametrize(
    "spelled",
    [
        TOKEN,
        quote(TOKEN, safe=""),
        TOKEN.replace("/", "\\/"),
        *(base64.b64encode(b"x" * before + TOKEN.encode() + b"yz").decode() for before in range(3)),
        *(base64.urlsafe_b64encode(b"\xff" * before + TOKEN.encode()).decode() for before in range(3)),
    ],
)
def test_own_credential_is_masked_in_messages_too(
    spelled: str, log: TrafficLog, recorder: Recorder, tmp_path: Path
) -> None:
    reported = _message("before it ") + _message(f"here: {spelled}.").replace(b"\\\\/", b"\\/")
    log.credentials.add(TOKEN, "access token")
    with closing(Recording(log, tmp_path / "a.mcpcap")) as recording:
        rows = recorder.received([read(_message("a")), read(reported), read(_message("b"))], 0)
        assert recording.flush()
        files = _files(tmp_path)
        assert TOKEN.encode() not in files
        assert not any(part in files for part in in_base64(TOKEN.encode()))
        assert log.raw(rows[1]) == reported
    stored = open_capture(tmp_path / "a.mcpcap").log
    assert b"~secret-1-access-token~" in stored.raw(rows[1])
    assert [stored.raw(rows[0]), stored.raw(rows[2])] == [_message("a"), _message("b")]


def test_a_credential_in_the_middle_of_a_big_message_is_found(
    log: TrafficLog, recorder: Recorder, tmp_path: Path
) -> None:
    # Across the border of what is searched at a time, whichever it is.
    reported = b"".join([b"x" * (256 * 1024 - 10), TOKEN.encode(), b"y" * 1_000_000, TOKEN.encode()])
    log.credentials.add(TOKEN, "access token")
    with closing(Recording(log, tmp_path / "a.mcpcap")):
        rows = recorder.received([read(reported)], 0)
    assert TOKEN.encode() not in _files(tmp_path)
    assert log.raw(rows[0]) == reported
    stored = open_capture(tmp_path / "a.mcpcap").log.raw(rows[0])
    assert stored == reported.replace(TOKEN.encode(), b"~secret-1-access-token~")


def test_a_credential_is_masked_in_names_ids_and_comments(
    log: TrafficLog, recorder: Recorder, tmp_path: Path
) -> None:
    log.credentials.add(TOKEN, "access token")
    ask = {
        "jsonrpc": "2.0",
        "id": f"id-{TOKEN}",
        "method": "resources/read",
        "params": {"uri": f"x://a?{TOKEN}"},
    }
    with closing(Recording(log, tmp_path / "a.mcpcap")):
        row = recorder.sent(read(json.dumps(ask).encode()))
        log.set_note(row, RowNote(comment=f"see {TOKEN}"))
    assert TOKEN.encode() not in _files(tmp_path)
    stored = open_capture(tmp_path / "a.mcpcap").log
    assert stored.subject(row) == "x://a?~secret-1-access-token~"
    assert stored.id(row) == "id-~secret-1-access-token~"
    assert stored.note(row).comment == "see ~secret-1-access-token~"


def test_header_declared_secret_is_masked_however_short_it_is(
    log: TrafficLog, recorder: Recorder, tmp_path: Path
) -> None:
    log.credentials.add_header("X-Acme")
    exchange = HttpExchange("GET", "https://a.example/", (("x-acme", "hush"),), 0, is_over=True)
    with closing(Recording(log, tmp_path / "a.mcpcap")):
        row = _put_exchange(recorder, exchange)
    stored = open_capture(tmp_path / "a.mcpcap").log.http(row)
    assert stored is not None
    assert stored.request_headers == (("x-acme", "~secret-1-x-acme~"),)


def test_ordinary_word_is_not_masked_in_messages(log: TrafficLog, recorder: Recorder, tmp_path: Path) -> None:
    log.credentials.add("password", "client secret")
    reported = _message("the password is wrong")
    with closing(Recording(log, tmp_path / "a.mcpcap")):
        row = recorder.received([read(reported)], 0)[0]
    assert open_capture(tmp_path / "a.mcpcap").log.raw(row) == reported


def test_masked_rows_stay_correct_when_their_neighbors_change(
    log: TrafficLog, recorder: Recorder, tmp_path: Path
) -> None:
    """A segment is rewritten when one of its requests gets a response."""
    with closing(Recording(log, tmp_path / "a.mcpcap")) as recording:
        recorder.sent(read(b'{"jsonrpc":"2.0","id":1,"method":"ping"}'))
        rows = [recorder.login_body(FORM)]
        assert recording.flush()
        recorder.received([read(b'{"jsonrpc":"2.0","id":1,"result":{}}')], 0)
        rows.append(recorder.login_body(FORM))
    stored = open_capture(tmp_path / "a.mcpcap").log
    masked = b"grant_type=authorization_code&code=~secret-1-code~&client_id=me"
    assert [stored.raw(row) for row in rows] == [masked, masked]
    assert [stored.kept(row) for row in rows] == [len(masked), len(masked)]


def test_rows_evicted_around_a_masked_row_are_read_back_correctly(
    log: TrafficLog, recorder: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording_module, "_MEMORY_BYTES", 0)
    reported = [_message(f"number {number}") for number in range(20)]
    with closing(Recording(log, tmp_path / "a.mcpcap")) as recording:
        rows = [recorder.received([read(text)], 0)[0] for text in reported[:10]]
        form = recorder.login_body(FORM)
        rows += [recorder.received([read(text)], 0)[0] for text in reported[10:]]
        assert recording.flush()
        assert log.in_memory(rows[0], rows[0] + 1) == [None]
        assert [log.raw(row) for row in rows] == reported
        assert log.raw(form) == FORM


def test_copy_made_while_recording_is_paused_is_masked_too(
    log: TrafficLog, recorder: Recorder, tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "copy").mkdir()
    with closing(Recording(log, tmp_path / "run" / "a.mcpcap")) as recording:
        recorder.login_body(FORM)
        assert recording.flush()
        (tmp_path / "run" / "a.mcpcap").unlink()  # from now on it can only be kept in memory
        row = recorder.login_body(FORM)
        _put_exchange(recorder, EXCHANGE)
        recording.save_as(tmp_path / "copy" / "b.mcpcap")
    assert b"Mark3r" not in _files(tmp_path / "copy")
    assert b"~secret-1-code~" in open_capture(tmp_path / "copy" / "b.mcpcap").log.raw(row)


def test_placeholders_sent_by_a_server_do_not_reveal_a_secret(
    log: TrafficLog, recorder: Recorder, tmp_path: Path
) -> None:
    hostile = HttpExchange(
        "GET",
        "https://a.example/",
        (("Authorization", f"Bearer {TOKEN}"),),
        0,
        status=200,
        response_headers=(("Server", "~secret-1-Authorization~"),),
        is_over=True,
    )
    with closing(Recording(log, tmp_path / "a.mcpcap")) as recording:
        row = _put_exchange(recorder, hostile)
        assert recording.flush()
        assert log.http(row) == hostile


def test_excess_secrets_get_an_irreversible_placeholder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.traffic.masking.at_rest._MAX_RESTORABLE", 2)
    at_rest = AtRestMasker(Credentials())
    proofs = [HttpExchange("GET", "https://a/", (("DPoP", f"proof-Xy{n}-12345"),), 0) for n in range(3)]
    masked = [at_rest.exchange(proof) for proof in proofs]
    values = [exchange.request_headers[0][1] for exchange in masked]
    assert values == ["~secret-1-DPoP~", "~secret-2-DPoP~", "~secret-0-DPoP~"]
    assert [at_rest.restored(exchange) for exchange in masked[:2]] == proofs[:2]
    assert at_rest.restored(masked[2]) == masked[2]


def test_all_credentials_of_a_long_session_are_masked_at_rest(tmp_path: Path) -> None:
    log = TrafficLog()
    recorder = Recorder(log, "srv", SystemClock())
    tokens = [f"token-{number:04}-Xy{number * 7919:09}" for number in range(1000)]
    for token in tokens:
        log.credentials.add(token, "access token")
    rows = [_receive(recorder, token) for token in (tokens[0], tokens[500], tokens[999])]
    assert Recording(log, tmp_path / "a.mcpcap").close()
    stored = open_capture(tmp_path / "a.mcpcap").log
    for row in rows:
        assert b"token-" not in stored.raw(row)
        assert b"~secret-" in stored.raw(row)
    content = (tmp_path / "a.mcpcap").read_bytes()
    assert not any(token.encode() in content for token in tokens)


def test_all_credentials_of_a_long_session_are_masked_in_exports() -> None:
    log = TrafficLog()
    recorder = Recorder(log, "srv", SystemClock())
    for number in range(1000):
        log.credentials.add(f"token-{number:04}-Xy", "access token")
    row = _receive(recorder, "token-0000-Xy")
    found = find_secrets(log, [row])
    assert found.knows(b"token-0000-Xy")
    assert b"token-0000-Xy" not in Masker(found).body(log.raw(row))


def test_the_oldest_of_thousands_of_credentials_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.traffic.credentials._MAX_COUNT", 32)
    credentials = Credentials()
    for number in range(100):
        credentials.add(f"token-{number:04}-Xy", "access token")
    credentials.add("token-0099-Xy", "access token")
    assert len(credentials.names_by_value()) == 32
    assert b"token-0099-Xy" in credentials.names_by_value()
    assert b"token-0001-Xy" not in credentials.names_by_value()

"""Examination of a URL (HTTP or WebSocket): DNS, TCP, TLS, HTTP, login, protocol."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from urllib.parse import urlsplit

from inspector.base.errors import ConfigError
from inspector.base.redaction import masked_url
from inspector.config.servers.entries import BearerSettings, Entry, HttpEntry, StdioEntry, WebSocketEntry
from inspector.config.servers.entry_secrets import given_by, references_of
from inspector.engine.doctor.exam import NAMES_LEFT, Exam, ExamTools, words_of
from inspector.engine.doctor.network_probe import (
    TlsProbe,
    connect,
    late_alert,
    probe_tls,
    read_banner,
    resolve,
)
from inspector.engine.doctor.probe_session import ObservedTraffic, ProbeSession
from inspector.engine.doctor.results import HTTP_STEPS, WEBSOCKET_STEPS, CheckResult, Diagnosis
from inspector.engine.doctor.rules.http import (
    MESSAGE_TYPES,
    AlternativeEndpoint,
    diagnose_answer,
    diagnose_content_type,
    diagnose_host,
    diagnose_no_answer,
    diagnose_websocket,
    is_other_json,
)
from inspector.engine.doctor.rules.login import WellKnownDocuments, diagnose_login, fetch_well_known
from inspector.engine.doctor.rules.network import (
    diagnose_alert,
    diagnose_connection,
    diagnose_name,
    diagnose_tls,
    diagnose_url,
    is_without_tls,
    with_parts,
)
from inspector.engine.doctor.rules.protocol import diagnose_messages, diagnose_settings
from inspector.session.connect import network_of
from inspector.transport.network import Network, proxy_for

_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443, "socks5": 1080, "socks5h": 1080}
_PLACE_LIMIT = 5.0  # per alternative URL


class UrlExam(Exam):
    """Checks a URL: DNS, connection, TLS, HTTP, login, protocol."""

    def __init__(self, entry: Entry, tools: ExamTools) -> None:
        super().__init__(entry, tools)
        self.steps = WEBSOCKET_STEPS if isinstance(entry, WebSocketEntry) else HTTP_STEPS

    async def walk(self) -> AsyncGenerator[CheckResult, None]:
        assert not isinstance(self.entry, StdioEntry)
        try:
            entry = await self.tools.fill(self.entry)
        except ConfigError as exc:
            is_secret = bool(references_of(self.entry))
            yield self.told("settings", "", diagnosis=diagnose_settings(self.entry, exc, is_secret=is_secret))
            return
        assert not isinstance(entry, StdioEntry)
        yield self.told("settings", f"Headers: {', '.join(given_by(entry)) or 'none'}")
        if self.has_names_left(entry):
            yield self.skipped("url", NAMES_LEFT)
            return
        yield self.told("url", masked_url(entry.url), diagnosis=diagnose_url(entry.url))
        if self.is_over() or not self.tools.may_contact:
            return
        async for result in self._reach(entry):
            yield result
        if not self.is_over():
            async with aclosing(self._talk(entry)) as results:
                async for result in results:
                    yield result

    # -------------------------------------------------------------- the way

    async def _reach(self, entry: HttpEntry | WebSocketEntry) -> AsyncGenerator[CheckResult, None]:
        network = network_of(entry, self.settings)
        limit = min(10.0, self.settings.connect_timeout)
        proxy = proxy_for(network, entry.url)
        parts = urlsplit(proxy or entry.url)
        host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 80)
        yield self.running("dns")
        began = self.now()
        name = await resolve(host, port, limit)
        shown = f"the proxy {host}: " if proxy else ""
        found = f"{shown}{', '.join(name.addresses[:4])}" if name.addresses else ""
        yield self.told("dns", found, self.now() - began, diagnose_name(name))
        if self.is_over():
            return
        yield self.running("tcp")
        began = self.now()
        connection = await connect(name, port, limit)
        details = tuple(f"{address}: {error or 'accepted'}" for address, error in connection.tried)
        diagnosis = diagnose_connection(connection, entry.url, proxy=proxy)
        found = f"{connection.accepted} port {port}" if connection.accepted else ""
        yield self.told("tcp", found, self.now() - began, diagnosis, details)
        if self.is_over():
            return
        if urlsplit(entry.url).scheme not in ("https", "wss"):
            yield self.skipped("tls", "The URL is without TLS.")
        elif proxy:
            yield self.skipped("tls", "Through the proxy: tried with the first request.")
        else:
            yield self.running("tls")
            yield await self._tls(entry, host, connection.accepted, port, network, limit)

    async def _tls(
        self,
        entry: HttpEntry | WebSocketEntry,
        host: str,
        address: str,
        port: int,
        network: Network,
        limit: float,
    ) -> CheckResult:
        began = self.now()
        try:
            seen = await probe_tls(host, address, port, network, limit)
        except ConfigError as exc:
            bad = Diagnosis("tls-settings", "tls", exc.summary, exc.next_step)
            return self.told("tls", "", self.now() - began, bad)
        details = tuple(line for certificate in seen.chain for line in certificate.lines())
        probe = self.tools.probe_limit
        said = await read_banner(host, address, port, probe) if is_without_tls(seen) else ""
        diagnosis = diagnose_tls(seen, entry.url, said)
        found = _tls_words(seen) if diagnosis is None or diagnosis.is_warning else ""
        return self.told("tls", found, seen.elapsed_ns or self.now() - began, diagnosis, details)

    # -------------------------------------------------------------- the conversation

    async def _talk(self, entry: HttpEntry | WebSocketEntry) -> AsyncGenerator[CheckResult, None]:
        yield self.running("http")
        try:
            talk = self.new_talk(entry)
        except ConfigError as exc:
            yield self.told("settings", "", diagnosis=diagnose_settings(entry, exc, is_secret=False))
            return
        try:
            await talk.connect()
            async with aclosing(self._judged(talk, entry)) as results:
                async for result in results:
                    yield result
        finally:
            await talk.close()

    async def _judged(
        self, talk: ProbeSession, entry: HttpEntry | WebSocketEntry
    ) -> AsyncGenerator[CheckResult, None]:
        heard = talk.ear.heard
        if heard.agreement is None and not _wants_login(heard):
            diagnosis = await self._why(heard, entry)
            for result in self._failed(heard, diagnosis):
                yield result
            return
        yield self._http(heard)
        if isinstance(entry, HttpEntry):
            yield self._content(heard)
            yield self.running("wellknown")
            began = self.now()
            known = await self._documents(heard, entry)
            yield self._wellknown(known, self.now() - began)
        else:
            known = WellKnownDocuments()
        if heard.agreement is None:
            seen = heard.deciding
            assert seen is not None
            login = diagnose_login(
                seen, known, has_header=_says_who_asks(entry), has_token=self._has_token(entry)
            )
            yield self.skipped("era", "Not before the login.")
            yield self.told("auth", "", diagnosis=login)
            return
        yield self.told("era", self.era_of(heard))
        yield self.told("auth", self._login_words(entry, known))
        async for result in self.after_agreement(talk, heard):
            yield result

    def _has_token(self, entry: HttpEntry | WebSocketEntry) -> bool:
        return self.authorization is not None and self.authorization.has_token

    def _login_words(self, entry: HttpEntry | WebSocketEntry, known: WellKnownDocuments) -> str:
        if _says_who_asks(entry):
            return "The configured credentials are accepted."
        if self._has_token(entry):
            return "The token of the last login is accepted."
        offered = " It describes a login for later." if known.resource else ""
        return f"None wanted to connect.{offered}"

    async def _why(self, heard: ObservedTraffic, entry: HttpEntry | WebSocketEntry) -> Diagnosis:
        network, seen = network_of(entry, self.settings), heard.deciding
        if seen is None:
            return await self._why_no_answer(heard, entry, network)
        if isinstance(entry, WebSocketEntry):
            found = diagnose_websocket(heard, entry.url)
        else:
            # Messages from an earlier guess at the era say nothing about the last response.
            found = diagnose_messages(heard, entry) if 200 <= seen.status < 300 or heard.messages else None
        if found is not None and (found.id != "initialize-refused" or not isinstance(entry, HttpEntry)):
            return found
        if not isinstance(entry, HttpEntry):
            return found or diagnose_no_answer(heard, entry.url)
        is_other = found is None and is_other_json(heard)
        elsewhere = await self._elsewhere(entry, seen.status, is_other or seen.content_type == "text/html")
        if found is not None and elsewhere is None:
            return diagnose_host(seen, entry.url, found.cause) or found
        is_labelled = 200 <= seen.status < 300 and seen.content_type in MESSAGE_TYPES
        if elsewhere is None and is_labelled and not is_other and "event stream" not in words_of(heard.error):
            return self._unreadable(heard)
        return diagnose_answer(heard, entry.url, elsewhere, entry.type)

    def _unreadable(self, heard: ObservedTraffic) -> Diagnosis:
        if "Gave up after" in words_of(heard.error) or "in time" in words_of(heard.error):
            return Diagnosis(
                "stream-silent",
                "http",
                "The server began its answer, and did not finish it in time.",
                "A proxy that buffers event streams is the usual reason: switch buffering off for this path.",
                (words_of(heard.error),),
            )
        return Diagnosis(
            "broken-messages",
            "content",
            "The answer is labelled as a message, but cannot be read as one.",
            "The Traffic view has the bytes. This is a fault of the server.",
            (words_of(heard.error), *heard.broken[:2]),
        )

    async def _why_no_answer(
        self, heard: ObservedTraffic, entry: HttpEntry | WebSocketEntry, network: Network
    ) -> Diagnosis:
        """Diagnose missing HTTP responses by finding out what else the port speaks."""
        known = diagnose_no_answer(heard, entry.url)
        if known.step != "http":
            return known
        probe = self.tools.probe_limit
        parts, proxy = urlsplit(entry.url), proxy_for(network, entry.url)
        host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
        name = await resolve(host, port, _PLACE_LIMIT)
        if proxy or not name.addresses:
            return diagnose_no_answer(heard, entry.url, proxy=proxy)
        address = name.addresses[0]
        if parts.scheme in ("https", "wss"):
            alert = diagnose_alert(await late_alert(host, address, port, network, 2 * probe), host)
            return alert or diagnose_no_answer(heard, entry.url)
        unchecked = replace(network, verify=False)
        said, tls = await asyncio.gather(
            read_banner(host, address, port, probe), probe_tls(host, address, port, unchecked, 2 * probe)
        )
        return diagnose_no_answer(heard, entry.url, speaks_tls=bool(tls.version), greeting=said)

    async def _elsewhere(self, entry: HttpEntry, status: int, is_other: bool) -> AlternativeEndpoint | None:
        """Try the usual paths on the same host concurrently; return the first that works."""
        is_answer_of_other = status < 300 and is_other
        if not is_answer_of_other and status not in (400, 404, 405, 406) and entry.type != "sse":
            return None
        path = urlsplit(entry.url).path
        beside = path.removesuffix("/") if path.endswith("/") and path != "/" else f"{path}/"
        places = [
            AlternativeEndpoint(entry.url, "http" if entry.type == "sse" else "sse"),
            *(
                AlternativeEndpoint(with_parts(entry.url, path=each), "http")
                for each in dict.fromkeys(("/mcp", f"{path.rstrip('/')}/mcp"))
            ),
            AlternativeEndpoint(with_parts(entry.url, path="/sse"), "sse"),
            AlternativeEndpoint(with_parts(entry.url, path=beside), "http"),
        ]
        others = [
            place for place in dict.fromkeys(places) if (place.url, place.type) != (entry.url, entry.type)
        ]
        works = await asyncio.gather(*(self._works_at(entry, place) for place in others))
        return next((place for place, is_it in zip(others, works, strict=True) if is_it), None)

    async def _works_at(self, entry: HttpEntry, place: AlternativeEndpoint) -> bool:
        limit = min(_PLACE_LIMIT, self.settings.connect_timeout)
        settings, self.settings = self.settings, replace(self.settings, connect_timeout=limit)
        try:
            talk = self.new_talk(replace(entry, url=place.url, type=place.type))
        except ConfigError:
            return False
        finally:
            self.settings = settings
        try:
            await talk.connect()
            return talk.ear.heard.agreement is not None
        finally:
            await talk.close()

    # -------------------------------------------------------------- telling

    def _http(self, heard: ObservedTraffic, diagnosis: Diagnosis | None = None) -> CheckResult:
        seen = heard.deciding
        if seen is None:
            return self.told("http", "", heard.ended - heard.began, diagnosis)
        details = tuple(
            f"{each.method} {masked_url(each.url)}: {each.status or each.error}" for each in heard.exchanges
        )
        found = f"{seen.status} to {seen.method}"
        return self.told("http", found, seen.answered_at - seen.asked_at, diagnosis, details)

    def _content(self, heard: ObservedTraffic, diagnosis: Diagnosis | None = None) -> CheckResult:
        seen = heard.deciding
        found = seen.content_type if seen is not None else ""
        return self.told("content", found or "none", diagnosis=diagnosis or diagnose_content_type(heard))

    async def _documents(self, heard: ObservedTraffic, entry: HttpEntry) -> WellKnownDocuments:
        refused = heard.deciding if _wants_login(heard) else None
        network, tools = network_of(entry, self.settings), self.tools
        return await fetch_well_known(entry.url, refused, network, tools.log, self.entry.name, tools.clock)

    def _wellknown(self, known: WellKnownDocuments, elapsed: int) -> CheckResult:
        found = known.resource or "None, so there is no login by OAuth."
        return self.told(
            "wellknown", found, elapsed, details=tuple(f"{url}: {came}" for url, came in known.places)
        )

    def _failed(self, heard: ObservedTraffic, diagnosis: Diagnosis) -> list[CheckResult]:
        """Return the steps up to the failed one."""
        if diagnosis.step not in self.steps or self.steps.index(diagnosis.step) <= self.steps.index("http"):
            step = diagnosis.step if diagnosis.step in self.steps else "http"
            if step == "http":
                return [self._http(heard, diagnosis)]
            return [self.told(step, "", heard.ended - heard.began, diagnosis)]
        results = [self._http(heard)]
        if diagnosis.step == "content" and "content" in self.steps:
            return [*results, self._content(heard, diagnosis)]
        if "content" in self.steps:
            results.append(self._content(heard))
        return [*results, self.told(diagnosis.step, "", heard.ended - heard.began, diagnosis)]


def _wants_login(heard: ObservedTraffic) -> bool:
    return heard.agreement is None and heard.deciding is not None and heard.deciding.status == 401


def _says_who_asks(entry: HttpEntry | WebSocketEntry) -> bool:
    is_bearer = isinstance(entry, HttpEntry) and isinstance(entry.auth, BearerSettings)
    return is_bearer or any(name.lower() == "authorization" for name in entry.headers)


def _tls_words(seen: TlsProbe) -> str:
    until = f", valid until {seen.chain[0].valid_until:%Y-%m-%d}" if seen.chain else ""
    return f"{seen.version}{until}"

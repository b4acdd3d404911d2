"""Check of a URL (HTTP or WebSocket): DNS, TCP, TLS, HTTP, login, protocol."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from urllib.parse import urlsplit

from inspector.base.errors import ConfigError, FailureKind
from inspector.base.redaction import masked_url
from inspector.config.servers.entries import BearerSettings, Entry, HttpEntry, StdioEntry, WebSocketEntry
from inspector.config.servers.entry_secrets import named_values, secret_references
from inspector.engine.doctor.connection_check import (
    NOT_EXPANDED,
    CheckContext,
    ConnectionCheck,
    kind_of,
    summary_of,
)
from inspector.engine.doctor.network_probe import (
    TlsProbe,
    WellKnownDocuments,
    connect,
    fetch_well_known,
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
    diagnose_content_type,
    diagnose_host,
    diagnose_no_response,
    diagnose_response,
    diagnose_websocket,
    is_other_json,
)
from inspector.engine.doctor.rules.login import diagnose_login
from inspector.engine.doctor.rules.network import (
    diagnose_alert,
    diagnose_connection,
    diagnose_name,
    diagnose_tls,
    diagnose_url,
    is_without_tls,
    with_parts,
)
from inspector.engine.doctor.rules.protocol import diagnose_messages, diagnose_settings, rejection_of
from inspector.session.connect import network_of
from inspector.transport.network import Network, proxy_for

_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443, "socks5": 1080, "socks5h": 1080}
_ALTERNATIVE_TIMEOUT = 5.0  # per alternative URL


class UrlCheck(ConnectionCheck):
    """Checks a URL: DNS, connection, TLS, HTTP, login, protocol."""

    def __init__(self, entry: Entry, context: CheckContext) -> None:
        super().__init__(entry, context)
        self.steps = WEBSOCKET_STEPS if isinstance(entry, WebSocketEntry) else HTTP_STEPS

    async def run(self) -> AsyncGenerator[CheckResult, None]:
        assert not isinstance(self.entry, StdioEntry)
        try:
            entry = await self.context.resolve(self.entry)
        except ConfigError as exc:
            is_secret = bool(secret_references(self.entry))
            yield self.check_result(
                "settings", "", diagnosis=diagnose_settings(self.entry, exc, is_secret=is_secret)
            )
            return
        assert not isinstance(entry, StdioEntry)
        yield self.check_result("settings", f"Headers: {', '.join(named_values(entry)) or 'none'}")
        if self.has_unexpanded_placeholders(entry):
            yield self.skipped("url", NOT_EXPANDED)
            return
        yield self.check_result("url", masked_url(entry.url), diagnosis=diagnose_url(entry.url))
        if self.has_failed() or not self.context.may_contact:
            return
        async for result in self._check_network(entry):
            yield result
        if not self.has_failed():
            async with aclosing(self._check_session(entry)) as results:
                async for result in results:
                    yield result

    async def _check_network(self, entry: HttpEntry | WebSocketEntry) -> AsyncGenerator[CheckResult, None]:
        network = network_of(entry, self.settings)
        limit = min(10.0, self.settings.connect_timeout)
        proxy = proxy_for(network, entry.url)
        parts = urlsplit(proxy or entry.url)
        host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 80)
        yield self.running("dns")
        began = self.now()
        name = await resolve(host, port, limit)
        shown = f"the proxy {host}: " if proxy else ""
        text = f"{shown}{', '.join(name.addresses[:4])}" if name.addresses else ""
        yield self.check_result("dns", text, self.now() - began, diagnose_name(name))
        if self.has_failed():
            return
        yield self.running("tcp")
        began = self.now()
        connection = await connect(name, port, limit)
        details = tuple(f"{address}: {error or 'accepted'}" for address, error in connection.tried)
        diagnosis = diagnose_connection(connection, entry.url, proxy=proxy)
        text = f"{connection.accepted} port {port}" if connection.accepted else ""
        yield self.check_result("tcp", text, self.now() - began, diagnosis, details)
        if self.has_failed():
            return
        if urlsplit(entry.url).scheme not in ("https", "wss"):
            yield self.skipped("tls", "The URL does not use TLS.")
        elif proxy:
            yield self.skipped("tls", "Tested through the proxy with the first request.")
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
            observed = await probe_tls(host, address, port, network, limit)
        except ConfigError as exc:
            bad = Diagnosis("tls-settings", "tls", exc.summary, exc.next_step)
            return self.check_result("tls", "", self.now() - began, bad)
        details = tuple(line for certificate in observed.chain for line in certificate.lines())
        probe = self.context.probe_timeout
        banner = await read_banner(host, address, port, probe) if is_without_tls(observed) else ""
        diagnosis = diagnose_tls(observed, entry.url, banner)
        text = _tls_text(observed) if diagnosis is None or diagnosis.is_warning else ""
        return self.check_result("tls", text, observed.elapsed_ns or self.now() - began, diagnosis, details)

    async def _check_session(self, entry: HttpEntry | WebSocketEntry) -> AsyncGenerator[CheckResult, None]:
        yield self.running("http")
        try:
            session = self.new_session(entry)
        except ConfigError as exc:
            yield self.check_result("settings", "", diagnosis=diagnose_settings(entry, exc, is_secret=False))
            return
        try:
            await session.connect()
            async with aclosing(self._evaluate(session, entry)) as results:
                async for result in results:
                    yield result
        finally:
            await session.close()

    async def _evaluate(
        self, session: ProbeSession, entry: HttpEntry | WebSocketEntry
    ) -> AsyncGenerator[CheckResult, None]:
        traffic = session.listener.traffic
        if traffic.negotiated is None and not _requires_login(traffic):
            diagnosis = await self._diagnose(traffic, entry)
            for result in self._failed_results(traffic, diagnosis):
                yield result
            return
        yield self._http(traffic)
        if isinstance(entry, HttpEntry):
            yield self._content(traffic)
            yield self.running("wellknown")
            began = self.now()
            documents = await self._fetch_documents(traffic, entry)
            yield self._wellknown(documents, self.now() - began)
        else:
            documents = WellKnownDocuments()
        if traffic.negotiated is None:
            observed = traffic.decisive_exchange
            assert observed is not None
            login = diagnose_login(
                observed, documents, has_header=_has_credentials(entry), has_token=self._has_token()
            )
            yield self.skipped("era", "Not checked before login.")
            yield self.check_result("auth", "", diagnosis=login)
            return
        yield self.check_result("era", self.era_text(traffic))
        yield self.check_result("auth", self._login_text(entry, documents))
        async for result in self.check_negotiated(session, traffic):
            yield result

    def _has_token(self) -> bool:
        return self.authorization is not None and self.authorization.has_token

    def _login_text(self, entry: HttpEntry | WebSocketEntry, documents: WellKnownDocuments) -> str:
        if _has_credentials(entry):
            return "The configured credentials were accepted."
        if self._has_token():
            return "The token from the last login was accepted."
        offered = " The server describes a login for later." if documents.resource else ""
        return f"No login required to connect.{offered}"

    async def _diagnose(self, traffic: ObservedTraffic, entry: HttpEntry | WebSocketEntry) -> Diagnosis:
        network, observed = network_of(entry, self.settings), traffic.decisive_exchange
        if observed is None:
            return await self._diagnose_no_response(traffic, entry, network)
        if isinstance(entry, WebSocketEntry):
            found = diagnose_websocket(traffic, entry.url)
        else:
            # Messages from an earlier guess at the era say nothing about the last response.
            found = (
                diagnose_messages(traffic, entry)
                if 200 <= observed.status < 300 or traffic.messages
                else None
            )
        if found is not None and (found.id != "initialize-refused" or not isinstance(entry, HttpEntry)):
            return found
        if not isinstance(entry, HttpEntry):
            return found or diagnose_no_response(traffic, entry.url)
        is_other = found is None and is_other_json(traffic)
        alternative = await self._find_alternative(
            entry, observed.status, is_other or observed.content_type == "text/html"
        )
        if found is not None and alternative is None:
            return diagnose_host(observed, entry.url, rejection_of(traffic)) or found
        is_labeled = 200 <= observed.status < 300 and observed.content_type in MESSAGE_TYPES
        if (
            alternative is None
            and is_labeled
            and not is_other
            and kind_of(traffic.error) is not FailureKind.EVENT_STREAM
        ):
            return self._unreadable(traffic)
        return diagnose_response(traffic, entry.url, alternative, entry.type)

    def _unreadable(self, traffic: ObservedTraffic) -> Diagnosis:
        if kind_of(traffic.error) is FailureKind.TIMEOUT:
            return Diagnosis(
                "stream-silent",
                "http",
                "The server started its response, but did not finish it in time.",
                "Usually a proxy buffers event streams: turn off buffering for this path.",
                (summary_of(traffic.error),),
            )
        return Diagnosis(
            "broken-messages",
            "content",
            "The response has the content type of a message, but cannot be parsed.",
            "Traffic has the raw bytes. This is a server bug.",
            (summary_of(traffic.error), *traffic.broken[:2]),
        )

    async def _diagnose_no_response(
        self, traffic: ObservedTraffic, entry: HttpEntry | WebSocketEntry, network: Network
    ) -> Diagnosis:
        """Diagnose missing HTTP responses by finding out what else the port speaks."""
        known = diagnose_no_response(traffic, entry.url)
        if known.step != "http":
            return known
        probe = self.context.probe_timeout
        parts, proxy = urlsplit(entry.url), proxy_for(network, entry.url)
        host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
        name = await resolve(host, port, _ALTERNATIVE_TIMEOUT)
        if proxy or not name.addresses:
            return diagnose_no_response(traffic, entry.url, proxy=proxy)
        address = name.addresses[0]
        if parts.scheme in ("https", "wss"):
            alert = diagnose_alert(await late_alert(host, address, port, network, 2 * probe), host)
            return alert or diagnose_no_response(traffic, entry.url)
        unchecked = replace(network, verify=False)
        banner, tls = await asyncio.gather(
            read_banner(host, address, port, probe), probe_tls(host, address, port, unchecked, 2 * probe)
        )
        return diagnose_no_response(traffic, entry.url, speaks_tls=bool(tls.version), greeting=banner)

    async def _find_alternative(
        self, entry: HttpEntry, status: int, is_other: bool
    ) -> AlternativeEndpoint | None:
        """Try the usual paths on the same host concurrently; return the first that works."""
        is_other_response = status < 300 and is_other
        if not is_other_response and status not in (400, 404, 405, 406) and entry.type != "sse":
            return None
        path = urlsplit(entry.url).path
        with_slash = path.removesuffix("/") if path.endswith("/") and path != "/" else f"{path}/"
        locations = [
            AlternativeEndpoint(entry.url, "http" if entry.type == "sse" else "sse"),
            *(
                AlternativeEndpoint(with_parts(entry.url, path=each), "http")
                for each in dict.fromkeys(("/mcp", f"{path.rstrip('/')}/mcp"))
            ),
            AlternativeEndpoint(with_parts(entry.url, path="/sse"), "sse"),
            AlternativeEndpoint(with_parts(entry.url, path=with_slash), "http"),
        ]
        others = [
            location
            for location in dict.fromkeys(locations)
            if (location.url, location.type) != (entry.url, entry.type)
        ]
        results = await asyncio.gather(*(self._works_at(entry, location) for location in others))
        return next((location for location, works in zip(others, results, strict=True) if works), None)

    async def _works_at(self, entry: HttpEntry, location: AlternativeEndpoint) -> bool:
        limit = min(_ALTERNATIVE_TIMEOUT, self.settings.connect_timeout)
        settings, self.settings = self.settings, replace(self.settings, connect_timeout=limit)
        try:
            session = self.new_session(replace(entry, url=location.url, type=location.type))
        except ConfigError:
            return False
        finally:
            self.settings = settings
        try:
            await session.connect()
            return session.listener.traffic.negotiated is not None
        finally:
            await session.close()

    def _http(self, traffic: ObservedTraffic, diagnosis: Diagnosis | None = None) -> CheckResult:
        observed = traffic.decisive_exchange
        if observed is None:
            return self.check_result("http", "", traffic.ended - traffic.began, diagnosis)
        details = tuple(
            f"{each.method} {masked_url(each.url)}: {each.status or each.error}" for each in traffic.exchanges
        )
        text = f"{observed.status} to {observed.method}"
        return self.check_result(
            "http", text, observed.responded_at - observed.requested_at, diagnosis, details
        )

    def _content(self, traffic: ObservedTraffic, diagnosis: Diagnosis | None = None) -> CheckResult:
        observed = traffic.decisive_exchange
        text = observed.content_type if observed is not None else ""
        return self.check_result(
            "content", text or "none", diagnosis=diagnosis or diagnose_content_type(traffic)
        )

    async def _fetch_documents(self, traffic: ObservedTraffic, entry: HttpEntry) -> WellKnownDocuments:
        refused = traffic.decisive_exchange if _requires_login(traffic) else None
        network, context = network_of(entry, self.settings), self.context
        return await fetch_well_known(
            entry.url, refused, network, context.log, self.entry.name, context.clock
        )

    def _wellknown(self, documents: WellKnownDocuments, elapsed: int) -> CheckResult:
        text = documents.resource or "None, so OAuth login is not available."
        return self.check_result(
            "wellknown",
            text,
            elapsed,
            details=tuple(f"{url}: {result}" for url, result in documents.locations),
        )

    def _failed_results(self, traffic: ObservedTraffic, diagnosis: Diagnosis) -> list[CheckResult]:
        """Return the results of the steps up to and including the failed one."""
        if diagnosis.step not in self.steps or self.steps.index(diagnosis.step) <= self.steps.index("http"):
            step = diagnosis.step if diagnosis.step in self.steps else "http"
            if step == "http":
                return [self._http(traffic, diagnosis)]
            return [self.check_result(step, "", traffic.ended - traffic.began, diagnosis)]
        results = [self._http(traffic)]
        if diagnosis.step == "content" and "content" in self.steps:
            return [*results, self._content(traffic, diagnosis)]
        if "content" in self.steps:
            results.append(self._content(traffic))
        return [*results, self.check_result(diagnosis.step, "", traffic.ended - traffic.began, diagnosis)]


def _requires_login(traffic: ObservedTraffic) -> bool:
    return (
        traffic.negotiated is None
        and traffic.decisive_exchange is not None
        and traffic.decisive_exchange.status == 401
    )


def _has_credentials(entry: HttpEntry | WebSocketEntry) -> bool:
    is_bearer = isinstance(entry, HttpEntry) and isinstance(entry.auth, BearerSettings)
    return is_bearer or any(name.lower() == "authorization" for name in entry.headers)


def _tls_text(observed: TlsProbe) -> str:
    until = f", valid until {observed.chain[0].valid_until:%Y-%m-%d}" if observed.chain else ""
    return f"{observed.version}{until}"

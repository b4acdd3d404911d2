"""Tools, resources and prompts of all connected servers: cached lists, one model for them, texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from PySide6.QtCore import QObject, Signal

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.engine.server_view import ServerView
from inspector.engine.views import ServerStatus
from inspector.protocol.jsonrpc import METHOD_NOT_FOUND, RpcError
from inspector.protocol.types import Prompt, Resource, ResourceTemplate, Tool
from inspector.qt.bridge import Bridge
from inspector.qt.models.feature_list import (
    Feature,
    FeatureListModel,
    Item,
    ItemTexts,
    ServerFeature,
    feature_name,
)

# The lists, and the server capability of each.
CAPABILITIES = {"tools": "tools", "resources": "resources", "templates": "resources", "prompts": "prompts"}
NOUNS = {"tools": "tool", "resources": "resource", "templates": "resource template", "prompts": "prompt"}
_SEPARATOR = "\x1f"
_MAX_LENGTH = 4_000


class FeatureLists(QObject):
    """Lists of the connected servers, fetched on demand, and again only after a server reports a change.

    Signals:
        outdated: Lists of a server must be fetched again, or are gone; carries the server's name.
    """

    outdated = Signal(str)

    def __init__(self, bridge: Bridge, parent: QObject) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._lists: dict[tuple[str, str], Sequence[Feature]] = {}
        self._version = 0
        bridge.list_changed.connect(self._on_list_changed)
        bridge.server_changed.connect(self._on_server_changed)
        bridge.server_removed.connect(self._forget)

    def get(self, server: str, kind: str) -> Sequence[Feature] | None:
        """Return a list that was fetched already."""
        return self._lists.get((server, kind))

    async def fetch(self, server: str, kind: str) -> Sequence[Feature]:
        """Fetch a list. Raises LensError."""
        version = self._version
        try:
            items = await self._fetch(server, kind)
        except RpcError as exc:
            if exc.code != METHOD_NOT_FOUND:
                raise
            items = ()  # many servers do not implement resources/templates/list: do not retry
        if version == self._version:  # else it may be outdated already
            self._lists[server, kind] = items
        return items

    async def _fetch(self, server: str, kind: str) -> Sequence[Feature]:
        match kind:
            case "tools":
                return (await self._bridge.ask(lambda engine: engine.list_tools(server))).items
            case "resources":
                return (await self._bridge.ask(lambda engine: engine.list_resources(server))).items
            case "templates":
                return (await self._bridge.ask(lambda engine: engine.list_resource_templates(server))).items
        return (await self._bridge.ask(lambda engine: engine.list_prompts(server))).items

    def _on_list_changed(self, server: str, capability: str) -> None:
        self._drop(server, [kind for kind in CAPABILITIES if CAPABILITIES[kind] == capability])

    def _on_server_changed(self, view: ServerView) -> None:
        if view.status is not ServerStatus.CONNECTED:
            self._forget(view.name)

    def _forget(self, server: str) -> None:
        if any((server, kind) in self._lists for kind in CAPABILITIES):
            self._drop(server, list(CAPABILITIES))

    def _drop(self, server: str, kinds: Sequence[str]) -> None:
        self._version += 1
        for kind in kinds:
            self._lists.pop((server, kind), None)
        self.outdated.emit(server)


class AllFeaturesModel(FeatureListModel):
    """Features of several servers that match the search."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(_TEXTS, parent)


def key_of(item: Item) -> str:
    if not isinstance(item, ServerFeature):
        return ""
    return _SEPARATOR.join((item.server, item.kind, feature_name(item.feature)))


def search_texts(item: ServerFeature) -> Iterator[str]:
    """Yield what a search finds besides the name."""
    yield item.server
    feature = item.feature
    if isinstance(feature, Tool):
        from inspector.schema.tool_names import search_names

        yield from search_names(item.server, feature.name)
    yield from (feature.name, feature.title, feature.description)


def _text(item: Item) -> str:
    if not isinstance(item, ServerFeature):
        return ""
    feature = item.feature
    # The name of a resource is optional in practice, and its URI identifies it.
    if isinstance(feature, Resource | ResourceTemplate):
        return feature.name or feature_name(feature)
    return feature.name


def _server(item: Item) -> str:
    return item.server if isinstance(item, ServerFeature) else ""


def _rest(item: Item) -> str:
    return "\n".join(search_texts(item)) if isinstance(item, ServerFeature) else ""


_TEXTS = ItemTexts(key=key_of, text=_text, note=_server, rest=_rest)


def feature_facts(item: ServerFeature) -> list[tuple[str, str, bool]]:
    """Return label, text and whether it is wire data, for each thing to show about a feature."""
    feature = item.feature
    facts = [("Server", one_line(item.server), False), ("Name", one_line(feature.name), True)]
    if feature.title and feature.title != feature.name:
        facts.append(("Title", one_line(feature.title), False))
    if isinstance(feature, Tool):
        from inspector.protocol.types import namespaced

        facts.append(("Qualified name", namespaced(item.server, feature.name), True))
        facts.append(("Annotations", ", ".join(feature.hints), False))
    elif isinstance(feature, Prompt):
        names = ", ".join(argument.name for argument in feature.arguments)
        facts.append(("Arguments", one_line(shorten(names, 500)), True))
    else:
        label = "URI" if isinstance(feature, Resource) else "URI template"
        facts += [(label, one_line(feature_name(feature)), True), ("Type", one_line(feature.mime_type), True)]
    facts.append(("Description", shorten(feature.description.strip(), _MAX_LENGTH), False))
    return [fact for fact in facts if fact[1]]

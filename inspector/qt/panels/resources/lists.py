"""Resource lists with one search: resources as list or tree, templates; and the item header.

The header of a template has a form for its variables, from which the URI is built.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QSizePolicy,
    QStackedWidget,
    QTreeView,
    QWidget,
)

from inspector.base.plain_text import one_line
from inspector.protocol.types import Listing, Malformed, Resource, ResourceTemplate
from inspector.qt.bridge import Bridge
from inspector.qt.forms.named_values import NamedValue, NamedValues, ValueCompleter
from inspector.qt.models.feature_list import FeatureListModel, Item, NoteRole, ToneRole
from inspector.qt.models.resources import RESOURCES, TEMPLATES, ResourceTreeModel, facts_of
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.views.feature_list import FeatureList, NoMatches
from inspector.qt.views.feature_panel import column_in
from inspector.qt.widgets.inputs.controls import Segments
from inspector.qt.widgets.inputs.search import SearchField
from inspector.qt.widgets.item_views import NoteDelegate, style_tree
from inspector.qt.widgets.layout import PanelHeader, hbox, vbox, vsplit
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.badge import Badge
from inspector.qt.widgets.text.labels import Heading, PlainLabel
from inspector.schema.uri_template import UriTemplate, Variable

_MAX_DESCRIPTION_LENGTH = 600
_MAX_FORM_SIZE = 260  # pixels; more scrolls
_LIST, _TREE = 0, 1
_MAX_EXPANDED = 300  # up to this many matches, a search expands all folders


class ResourceLists(QWidget):
    """The lists of resources and templates, which share one selection.

    Signals:
        chosen: The user selected an item; carries it.
        activated: The user wants to read it, with Return or a double click.
        uri_typed: The user entered a URI that is in no list; carries it.
    """

    chosen = Signal(object)
    activated = Signal(object)
    uri_typed = Signal(str)

    def __init__(self, theme: Theme, refresh: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._current: Item | None = None
        self._is_moving = False
        self._tree_text: str | None = None  # the query the tree was built for
        self._expanded: Set[str] | None = None  # folders open without a search
        self.resources = FeatureListModel(RESOURCES, self)
        self.templates = FeatureListModel(TEMPLATES, self)
        self.tree_model = ResourceTreeModel(self.resources, self)
        self.search = SearchField(theme, "Search resources")
        self.view_switch = Segments(theme, ("List", "Tree"))
        self.view_switch.setAccessibleName("Resource view")
        self.list = FeatureList(theme, self.resources, "Resources")
        self.template_list = FeatureList(theme, self.templates, "Resource templates")
        elide = Qt.TextElideMode.ElideMiddle  # both ends of a URI template matter
        self.template_list.setItemDelegate(NoteDelegate(theme, NoteRole, ToneRole, self.template_list, elide))
        self.tree = QTreeView()
        self._views = QStackedWidget()
        self._header = PanelHeader(theme, "Resources")
        self._template_header = PanelHeader(theme, "Templates")
        headers = [(self.resources, self._header), (self.templates, self._template_header)]
        self._no_matches = NoMatches(theme, headers)
        self._lower = QWidget()
        self._apply_theme()
        self._lay_out(refresh)
        self._connect()

    @property
    def total(self) -> int:
        return self.resources.total + self.templates.total

    async def prepare(self, listing: Listing[Resource]) -> None:
        """Do the slow part for a long list, in steps."""
        if self.view_switch.index() == _TREE:
            await self.tree_model.split_uris(listing.items)

    def set_resources(self, listing: Listing[Resource]) -> None:
        self.resources.set_listing(listing)

    def set_templates(self, listing: Listing[ResourceTemplate]) -> None:
        self.templates.set_listing(listing)
        self._lower.setVisible(bool(self.templates.total))

    def current_version(self) -> Item | None:
        """Return the current version of the selected item; None if it is no longer listed."""
        model = self.templates if isinstance(self._current, ResourceTemplate) else self.resources
        return model.current(self._current) if self._current is not None else None

    def choose(self, item: Item | None) -> None:
        """Select an item without emitting `chosen`; an unlisted item selects no row."""
        self._current = item
        is_template = isinstance(item, ResourceTemplate)
        self.list.select_silently(None if is_template else item)
        self.template_list.select_silently(item if is_template else None)
        self._select_in_tree()

    def _select_in_tree(self) -> None:
        if self.view_switch.index() == _TREE:
            item = self._current
            index = self.tree_model.index_of(item.uri) if isinstance(item, Resource) else QModelIndex()
            self._is_moving = True
            self.tree.setCurrentIndex(index)
            self._is_moving = False

    def first(self) -> Item | None:
        return self.resources.item(0) or self.templates.item(0)

    def toggle_tree(self) -> None:
        self.view_switch.choose(_LIST if self.view_switch.index() == _TREE else _TREE)
        self._on_view_chosen()

    def _apply_theme(self) -> None:
        self.tree.setModel(self.tree_model)
        self.tree.setAccessibleName("Resources by URI")
        self.tree.setHeaderHidden(True)
        style_tree(self.tree, self._theme)
        self.tree.setFont(self._theme.mono_font(0.95))
        self.tree.setItemDelegate(NoteDelegate(self._theme, NoteRole, ToneRole, self.tree))

    def _lay_out(self, refresh: QAction) -> None:
        self._header.add_action(refresh)
        self._views.addWidget(self.list)
        self._views.addWidget(self.tree)
        upper = QWidget()
        column = column_in(upper)
        column.addWidget(self._header)
        boxed = hbox(None, (self.search, 1), self.view_switch, margin=SPACE_2)
        column.addLayout(boxed)
        column.addWidget(self._no_matches)
        column.addWidget(self._views, 1)
        lower = column_in(self._lower)
        lower.addWidget(self._template_header)
        lower.addWidget(self.template_list, 1)
        self._lower.hide()
        splitter = vsplit(upper, self._lower, sizes=[420, 160], stretch=1)
        splitter.setStretchFactor(0, 3)
        column_in(self).addWidget(splitter)

    def _connect(self) -> None:
        self.search.text_settled.connect(self._on_search_settled)
        self.search.returnPressed.connect(self._on_return)
        self.search.down_pressed.connect(self._on_down_pressed)
        self.view_switch.chosen.connect(self._on_view_chosen)
        self.resources.searched.connect(self._on_resources_searched)
        self.resources.dataChanged.connect(self.tree.viewport().update)
        self.list.chosen.connect(self._on_list_moved)
        self.tree.selectionModel().currentChanged.connect(self._on_tree_moved)
        self.template_list.chosen.connect(self._on_template_moved)
        self.list.activated.connect(lambda index: self._activate(self.resources.item(index.row())))
        self.tree.activated.connect(lambda index: self._activate(self.tree_model.item(index)))
        self.template_list.activated.connect(lambda index: self._activate(self.templates.item(index.row())))

    def _on_search_settled(self, text: str) -> None:
        self.resources.set_text(text.strip())
        self.templates.set_text(text.strip())

    def _on_down_pressed(self) -> None:
        (self.tree if self.view_switch.index() == _TREE else self.list).setFocus()

    def _on_return(self) -> None:
        typed = self.search.text().strip()
        if ":" in typed and not self.resources.rowCount() and not self.templates.rowCount():
            self.uri_typed.emit(typed)

    def _on_resources_searched(self) -> None:
        if self.view_switch.index() == _TREE:
            self._rebuild_tree()
        is_uri = ":" in self.resources.filter_text
        self._no_matches.setText("No matches. Press Return to read this URI." if is_uri else "No matches")

    def _on_view_chosen(self) -> None:
        is_tree = self.view_switch.index() == _TREE
        if is_tree:
            self._rebuild_tree()
        self._views.setCurrentIndex(self.view_switch.index())
        self.choose(self._current)

    def _rebuild_tree(self) -> None:
        """Rebuild the tree; a refetched list keeps its open folders and scroll position."""
        text, position = self.resources.filter_text, self.tree.verticalScrollBar().value()
        if self._tree_text == "" and self.tree_model.rowCount():
            self._expanded = set(self._expanded_folders(QModelIndex()))
        is_same_search, self._tree_text = self._tree_text == text, text
        self.tree_model.rebuild()
        if text and self.resources.rowCount() <= _MAX_EXPANDED:
            self.tree.expandAll()
        elif self._expanded is not None:
            self._expand_again(QModelIndex(), self._expanded)
        elif self.tree_model.rowCount() <= 20:
            self.tree.expandToDepth(0)
        self.tree.setAutoScroll(not is_same_search)
        self._select_in_tree()
        self.tree.setAutoScroll(True)
        if is_same_search:
            self.tree.doItemsLayout()
            self.tree.verticalScrollBar().setValue(position)

    def _expanded_folders(self, parent: QModelIndex) -> Iterator[str]:
        for beginning, folder in self.tree_model.folders(parent):
            if self.tree.isExpanded(folder):
                yield beginning
                yield from self._expanded_folders(folder)

    def _expand_again(self, parent: QModelIndex, expanded: Set[str]) -> None:
        """Reopen folders and their parents: a folder that merged several may have been split."""
        for beginning, folder in self.tree_model.folders(parent):
            if any(each.startswith(beginning) for each in expanded):
                self.tree.expand(folder)
                self._expand_again(folder, expanded)

    def _on_list_moved(self, item: Item) -> None:
        self._current = item
        self.template_list.select_silently(None)
        self.chosen.emit(item)

    def _on_template_moved(self, item: Item) -> None:
        self._current = item
        self.list.select_silently(None)
        self._select_in_tree()
        self.chosen.emit(item)

    def _on_tree_moved(self, current: QModelIndex) -> None:
        item = self.tree_model.item(current)
        if item is not None and not self._is_moving:
            self.list.select_silently(item)
            self._on_list_moved(item)

    def _activate(self, item: Item | None) -> None:
        if item is not None:
            self.activated.emit(item)


class ResourceHeader(QWidget):
    """Shows one item. For a template it has a form, and `uri` follows the input.

    Signals:
        uri_changed: `uri` changed.
    """

    uri_changed = Signal()

    def __init__(self, bridge: Bridge, server: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._item: Item | None = None
        self._template: UriTemplate | None = None
        self._typed: dict[str, dict[str, str | None]] = {}
        self.completes = False
        self._title = Heading(theme)
        self.badge = Badge(theme)
        self._uri = PlainLabel(theme, mono=True, wrap=True, selectable=True)
        self._description = PlainLabel(theme, tone="muted", wrap=True, selectable=True)
        self._facts = PlainLabel(theme, tone="muted", wrap=True, selectable=True)
        self._alert = Alert(theme)
        self.form = NamedValues(theme)
        self._completer = ValueCompleter(bridge, server, self.form)
        self._lay_out()
        self.form.changed.connect(self._on_values_changed)

    @property
    def uri(self) -> str:
        """The URI that would be read; "" if there is none."""
        if self._template is not None:
            return self._template.expand(self.form.values())
        return self._item.uri if isinstance(self._item, Resource) else ""

    @property
    def item(self) -> Item | None:
        return self._item

    def show_item(self, item: Item | None) -> None:
        """Show an item, or a new version of it. What was typed for a template is restored."""
        self._save_typed()
        self._item = item
        self._template = UriTemplate(item.uri_template) if isinstance(item, ResourceTemplate) else None
        self._alert.close_all()
        if isinstance(item, Malformed):
            self._show_text("Invalid", f"{item.reason}.", [])
        elif isinstance(item, Resource | ResourceTemplate):
            title = item.title or item.name or self._listed_uri()
            self._show_text(title, item.description, facts_of(item.source))
        else:
            self._show_text("", "", [])
        self._show_form()
        self._show_uri()
        self.uri_changed.emit()

    def _listed_uri(self) -> str:
        item = self._item
        return item.uri_template if isinstance(item, ResourceTemplate) else self.uri

    def _show_text(self, title: str, description: str, facts: list[tuple[str, str]]) -> None:
        self._title.setText(one_line(title))
        self._description.setText(description.strip()[:_MAX_DESCRIPTION_LENGTH])
        self._description.setVisible(bool(description.strip()))
        self._facts.setText("  ·  ".join(f"{label}\u00a0 {one_line(value)}" for label, value in facts))
        self._facts.setVisible(bool(facts))

    def _show_form(self) -> None:
        template, item = self._template, self._item
        self.form.setVisible(template is not None)
        if template is None or not isinstance(item, ResourceTemplate):
            self._completer.set_ref({})
            return
        self._completer.set_ref({"type": "ref/resource", "uri": item.uri_template})
        rows = [_row(variable) for variable in template.variables]
        self.form.set_rows(
            rows, "This template has no variables: it is a single URI.", completes=self.completes
        )
        self.form.set_texts(self._typed.get(item.uri_template, dict.fromkeys(self.form.rows)))
        if template.problems:
            errors = "; ".join(template.problems)
            self._alert.show_message("template", f"This template can't be expanded as intended: {errors}.")

    def _save_typed(self) -> None:
        if isinstance(self._item, ResourceTemplate):
            self._typed[self._item.uri_template] = self.form.texts()

    def _show_uri(self) -> None:
        uri = self.uri
        self._uri.setText(one_line(uri))
        self._uri.setAccessibleName("URI")
        self._uri.setVisible(bool(uri))

    def _on_values_changed(self) -> None:
        if self._template is not None:
            self._show_uri()
            self.uri_changed.emit()

    def _lay_out(self) -> None:
        self.form.setMaximumHeight(_MAX_FORM_SIZE)
        self.form.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        head = vbox(
            None,
            hbox(None, (self._title, 1), self.badge),
            self._facts,
            self._description,
            gap=SPACE_1,
            margin=(SPACE_3, SPACE_2, SPACE_3, SPACE_1),
        )
        shown = vbox(None, self._uri, gap=-1, margin=(SPACE_3, SPACE_1, SPACE_3, 0))
        vbox(self, head, self._alert, self.form, shown, gap=0)


def _row(variable: Variable) -> NamedValue:
    hints = [variable.location, f"first {variable.max_length} characters" if variable.max_length else ""]
    return NamedValue(variable.name, takes_list=variable.takes_list, hint=", ".join(filter(None, hints)))

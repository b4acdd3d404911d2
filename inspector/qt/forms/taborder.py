"""Tab through a form in the order in which it is laid out.

Qt goes in the order of making, so a row that is added or scrolled to would come after all the others.
"""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLayout, QWidget


def step(form: QWidget, forward: bool) -> bool:
    """Move the focus to the next or previous widget; at an end of the form, to one outside.

    Return False if there is none.
    """
    stops = [widget for widget in _laid_out(form) if _is_stop(widget)]
    focused = form.focusWidget()
    here = next((place for place, widget in enumerate(stops) if widget is focused), None)
    if here is None:
        return False
    place = here + (1 if forward else -1)
    target = stops[place] if 0 <= place < len(stops) else _outside(form, focused, forward)
    if target is None:
        return False
    target.setFocus(Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason)
    return True


def _laid_out(widget: QWidget) -> Iterator[QWidget]:
    """Yield the widgets inside, in layout order."""
    layout = widget.layout()
    if layout is not None:
        yield from _in_layout(layout)


def _in_layout(layout: QLayout) -> Iterator[QWidget]:
    for place in range(layout.count()):
        item = layout.itemAt(place)
        assert item is not None
        inner, widget = item.layout(), item.widget()
        if inner is not None:
            yield from _in_layout(inner)
        elif widget is not None and widget.isVisible():
            yield widget
            yield from _laid_out(widget)


def _is_stop(widget: QWidget) -> bool:
    takes_tab = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
    return takes_tab and widget.isVisible() and widget.isEnabled() and widget.focusProxy() is None


def _outside(form: QWidget, focused: QWidget, forward: bool) -> QWidget | None:
    widget: QWidget | None = focused
    while widget is not None:
        widget = widget.nextInFocusChain() if forward else widget.previousInFocusChain()
        if widget is None or widget is focused:
            return None
        if not form.isAncestorOf(widget) and _is_stop(widget):
            return widget
    return None

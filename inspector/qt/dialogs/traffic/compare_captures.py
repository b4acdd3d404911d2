"""Comparison of two captures: exchanges in both, in only one, or with different results.

Runs in slices of 8 ms on the window's event loop. Message bodies over 32 KiB are compared by structure
only when the pair is opened.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from PySide6.QtCore import QModelIndex, Qt, QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QHeaderView,
    QProgressBar,
    QStackedWidget,
    QTableView,
    QWidget,
)

from inspector.base.errors import UserError
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.qt.dialogs.traffic.compare import IgnoreBar
from inspector.qt.models.compare.capture_pairs import (
    PairColumn,
    PairRowsModel,
    SubjectColumn,
    SubjectRowsModel,
)
from inspector.qt.models.compare.comparison import CompareOptions, Side
from inspector.qt.models.traffic.traffic_model import TrafficSource
from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.inputs.controls import ActionButton, Segments
from inspector.qt.widgets.item_views import style_table
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.labels import MutedLabel
from inspector.traffic.compare.captures import CaptureDiff, PairStatus

_SLICE_S = 0.008
_BAR_STEPS = 1000
# Larger ones are compared by structure when the pair is opened.
_MAX_INSPECTED = 32 * 1024
_DIFFERING = (PairStatus.OTHER_STATUS, PairStatus.OTHER_BYTES, PairStatus.DIFFERENT)
_FILTERS: tuple[tuple[str, tuple[PairStatus, ...]], ...] = (
    ("All", tuple(PairStatus)),
    ("Different", _DIFFERING),
    ("Only left", (PairStatus.ONLY_LEFT,)),
    ("Only right", (PairStatus.ONLY_RIGHT,)),
    ("Same", (PairStatus.SAME,)),
)
_EXCHANGES, _SUBJECTS = 0, 1


class CompareCapturesDialog(QDialog):
    """Compares two captures.

    Runs in slices on the window's event loop, so that the dialog stays usable and can be stopped.

    Signals:
        pair_requested: Show the differences in a pair of exchanges; carries its two Sides.
    """

    help_page = "captures"
    pair_requested = Signal(object, object)

    def __init__(
        self,
        theme: Theme,
        sources: Sequence[TrafficSource],
        options: CompareOptions,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._sources = [(source.log, source.title) for source in sources]
        self._theme = theme
        self._options = options
        self._diff: CaptureDiff | None = None
        self._titles = ("", "")
        self._steps: Iterator[float] = iter(())
        self.left, self.right = self._make_choice("Left capture", 0), self._make_choice("Right capture", 1)
        self.compare_action = QAction("Compare", self)
        self.stop_action = QAction("Stop", self)
        self._stop_button = ActionButton(self.stop_action, "quiet")
        self.ignore_bar = IgnoreBar(options, theme)
        self.alert = Alert(theme)
        self.bar = QProgressBar()
        self.views = Segments(theme, ("Exchanges", "By tool"))
        self.filters = Segments(theme, [name for name, _ in _FILTERS])
        self.pairs, self.subjects = PairRowsModel(theme), SubjectRowsModel(theme)
        self.pair_table, self.subject_table = QTableView(), QTableView()
        self._tables = QStackedWidget()
        self.gate = ContentStack(theme, self._tables)
        self._timer = QTimer(self, interval=0)
        self._lay_out()
        self._connect()
        self._explain()

    @property
    def is_comparing(self) -> bool:
        return self._timer.isActive()

    def compare(self) -> None:
        (left_log, left), (right_log, right) = (
            self._sources[each.currentIndex()] for each in (self.left, self.right)
        )
        if left_log is right_log:
            self._report_same_capture()
            return
        self.alert.close_all()
        self._titles = (left, right)
        self._diff = CaptureDiff(left_log, right_log, self._options.ignoring)
        self._steps = self._work(self._diff)
        self.gate.explain("loading", "", "Comparing", "Matching exchanges.", action=self.stop_action)
        self._timer.start()
        self._update()

    def stop(self) -> None:
        """Stop comparing; what was found so far stays."""
        self._timer.stop()
        self._steps = iter(())
        if self._diff is not None:
            self._show_tables()
            self.alert.show_message("stopped", "Stopped: some exchanges were not compared.", tone="muted")
        self._update()

    def _work(self, diff: CaptureDiff) -> Iterator[float]:
        """Pair everything, then compare pairs with different bytes: it may only be ignored parts."""
        for share in diff.steps():
            yield 0.7 * share
        self._show_tables()
        different = diff.pairs(PairStatus.OTHER_BYTES)
        for position, number in enumerate(different):
            if _is_small(diff, number):
                diff.compare_pair(number)
            yield 0.7 + 0.3 * position / len(different)

    def _on_slice(self) -> None:
        until = time.monotonic() + _SLICE_S
        share = 0.0
        try:
            for share in self._steps:
                if time.monotonic() >= until:
                    self.bar.setValue(round(share * _BAR_STEPS))
                    return
        except UserError as exc:
            self.stop()
            self.alert.show_message("stopped", exc.summary, exc.next_step)
            return
        self._timer.stop()
        self._show_tables()
        self._update()

    def _show_tables(self) -> None:
        diff = self._diff
        if diff is None:
            return
        self._show_counts(diff)
        self.pairs.show(diff, _FILTERS[self.filters.index()][1])
        self.subjects.replace(diff.subjects())
        if len(diff):
            self.gate.open()
        else:
            self.gate.explain("empty", "traffic", "Nothing to compare", "Neither capture contains a request.")
        if diff.note:
            self.alert.show_message("note", diff.note, tone="muted")

    def _show_counts(self, diff: CaptureDiff) -> None:
        """Update the counts. Each pass over all pairs takes some milliseconds, so make few."""
        left, right, same = (
            len(diff.pairs(status))
            for status in (PairStatus.ONLY_LEFT, PairStatus.ONLY_RIGHT, PairStatus.SAME)
        )
        counts = (len(diff), len(diff) - left - right - same, left, right, same)
        for position, ((name, _), count) in enumerate(zip(_FILTERS, counts, strict=True)):
            self.filters.button(position).setText(f"{name} {count:,}")

    def _update(self) -> None:
        self.bar.setVisible(self.is_comparing)
        self.stop_action.setEnabled(self.is_comparing)
        self._stop_button.setVisible(self.is_comparing)
        is_open = self._diff is not None
        self.views.setEnabled(is_open)
        self.filters.setVisible(self.views.index() == _EXCHANGES)
        self.filters.setEnabled(is_open)

    def _explain(self) -> None:
        if len(self._sources) < 2:
            text = (
                "Open a capture to compare it with the live traffic, or open two to compare them with each "
                "other."
            )
            self.gate.explain("empty", "open", "Nothing to compare with", text)
            self.compare_action.setEnabled(False)
        else:
            text = "Exchanges are matched by request, in the order they were sent."
            self.gate.explain("empty", "columns", "Choose two captures", text, action=self.compare_action)
        self._update()

    def _report_same_capture(self) -> None:
        self.alert.show_message(
            "choice", "Both sides are the same capture.", "Choose a different capture for one side."
        )

    def open_pair(self, index: QModelIndex) -> None:
        """Show the differences in a pair; an exchange that only one side has cannot be compared."""
        if self._diff is None or not index.isValid():
            return
        pair = self._diff.pair(self.pairs.record(index.row()))
        if pair.left is None or pair.right is None:
            side = "left" if pair.left is not None else "right"
            self.alert.show_message("pair", f"Only the {side} capture has this exchange.")
            return
        (left_log, right_log), (left, right) = self._diff.logs, self._titles
        self.alert.close_topic("pair")
        self.pair_requested.emit(Side(left_log, pair.left, left), Side(right_log, pair.right, right))

    def _on_view_chosen(self, view: int) -> None:
        self._tables.setCurrentIndex(view)
        self._update()

    def _on_ignoring_changed(self) -> None:
        if self._diff is not None:
            self.compare()

    def _make_choice(self, name: str, position: int) -> QComboBox:
        box = QComboBox()
        box.setAccessibleName(name)
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(20)  # the drop-down shows long names in full
        for log, title in self._sources:
            box.addItem(f"{shorten(one_line(title), 50)} · {plural(len(log), 'row')}")
        box.setCurrentIndex(min(position, len(self._sources) - 1))
        return box

    def _connect(self) -> None:
        self.compare_action.triggered.connect(self.compare)
        self.stop_action.triggered.connect(self.stop)
        self.views.chosen.connect(self._on_view_chosen)
        self.filters.chosen.connect(lambda index: self._show_tables())
        self._options.changed.connect(self._on_ignoring_changed)
        self.ignore_bar.problem_found.connect(lambda text: self.alert.show_message("path", text))
        self.pair_table.activated.connect(self.open_pair)
        self._timer.timeout.connect(self._on_slice)
        self.finished.connect(self._timer.stop)

    def _lay_out(self) -> None:
        self.setWindowTitle("Compare captures")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowFlag(Qt.WindowType.WindowMaximizeButtonHint)
        self.resize(1040, 680)
        self._style_tables()
        button = ActionButton(self.compare_action)
        button.setDefault(True)
        parts = (self.left, MutedLabel(self._theme, "with"), self.right, button, STRETCH, self.ignore_bar)
        top = hbox(None, *parts, margin=(SPACE_3, SPACE_2))
        self.bar.setRange(0, _BAR_STEPS)
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName("Comparison progress")
        vbox(
            self,
            top,
            hbox(
                None,
                self.views,
                self.filters,
                STRETCH,
                self.bar,
                self._stop_button,
                margin=(SPACE_3, SPACE_2),
            ),
            self.alert,
            (self.gate, 1),
            gap=0,
        )

    def _style_tables(self) -> None:
        widths = {
            PairColumn.SIGN: 28, PairColumn.RESULT: 100, PairColumn.LEFT_ROW: 80, PairColumn.LEFT_STATUS: 84,
            PairColumn.LEFT_DURATION: 84, PairColumn.RIGHT_ROW: 88, PairColumn.RIGHT_STATUS: 84,
            PairColumn.RIGHT_DURATION: 84,
        }  # fmt: skip
        for table, model, name in (
            (self.pair_table, self.pairs, "Matched exchanges"),
            (self.subject_table, self.subjects, "Exchanges by tool"),
        ):
            table.setModel(model)
            table.setAccessibleName(name)
            style_table(table, self._theme)
            table.setSelectionMode(QTableView.SelectionMode.SingleSelection)
            table.horizontalHeader().setStretchLastSection(False)
            table.horizontalHeader().setMinimumSectionSize(28)
            self._tables.addWidget(table)
        for position, width in widths.items():
            self.pair_table.setColumnWidth(position, width)
        for column in list(SubjectColumn)[1:]:
            self.subject_table.setColumnWidth(column.value, 96)
        stretch = QHeaderView.ResizeMode.Stretch
        self.pair_table.horizontalHeader().setSectionResizeMode(PairColumn.EXCHANGE, stretch)
        self.subject_table.horizontalHeader().setSectionResizeMode(SubjectColumn.REQUEST, stretch)


def _is_small(diff: CaptureDiff, number: int) -> bool:
    pair = diff.pair(number)
    rows = [
        (log, row) for log, row in zip(diff.logs, (pair.left, pair.right), strict=True) if row is not None
    ]
    responses = [(log, partner) for log, row in rows if (partner := log.partner(row)) is not None]
    return all(log.kept(row) <= _MAX_INSPECTED for log, row in [*rows, *responses])

"""Doctor panel of one server: run the checks, see which step fails and why, apply a remedy."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from inspector.engine.doctor.results import Action, ActionKind, CheckReport, Diagnosis, report_summary
from inspector.engine.server_view import ServerView
from inspector.engine.views import ServerStatus
from inspector.qt.panels.doctor.steps import FindingView, StepList
from inspector.qt.theme import SPACE_3, SPACE_4, SPACE_6
from inspector.qt.views.panel import Panel, PanelContext
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import STRETCH, discard, hbox, vbox
from inspector.qt.widgets.notices.empty_state import ContentStack, Spinner
from inspector.qt.widgets.notices.notices import Alert, reported
from inspector.qt.widgets.text.labels import Heading, MutedLabel

_MAX_WIDTH = 900
_INTRODUCTION = (
    "Doctor runs connection checks on a separate connection and shows what fails, why, and how to fix it."
)


class DoctorPanel(Panel):
    """The latest Doctor check of one server.

    Signals:
        remedied: A remedy was applied; the server is checked again.
    """

    help_page = "troubleshooting"
    remedied = Signal()

    def __init__(self, context: PanelContext) -> None:
        super().__init__()
        bridge, server = context.bridge, context.server
        actions, theme = context.actions, context.theme
        self._bridge, self._server, self._actions, self._theme = bridge, server, actions, theme
        self._status: ServerStatus | None = None
        self.report: CheckReport | None = None
        self.run_action = QAction("Run Doctor", self)
        self.run_action.setToolTip("Check the connection to this server step by step")
        self.run_action.triggered.connect(self.run)
        self.stop_action = QAction("Stop", self)
        self.stop_action.triggered.connect(self.stop)
        self.copy_action = QAction("Copy report", self)
        self.copy_action.setToolTip("Copy the report as text, without secrets")
        self.copy_action.triggered.connect(self.copy)
        self.summary = Heading(theme)
        self._spinner = Spinner(theme)
        self._note = MutedLabel(theme, wrap=True)
        self.alert = Alert(theme)
        self.steps = StepList(theme)
        self.findings: list[FindingView] = []
        self._finding_column = vbox(None)
        self._buttons = {
            "stop": ActionButton(self.stop_action),
            "copy": ActionButton(self.copy_action),
            "run": ActionButton(self.run_action),
            "connect": ActionButton(actions["server.connect"], "primary"),
        }
        self._stack = ContentStack(theme, self._make_content())
        vbox(self, self._stack)
        bridge.check_changed.connect(self._on_check_changed)
        self._explain()
        bridge.start_when_attached(f"load the Doctor report of {server}", self._load())

    def set_view(self, view: ServerView) -> None:
        self._status = view.status
        note = ""
        if view.status is ServerStatus.CONNECTED and view.transport == "stdio":
            note = "The server is connected. Doctor starts a second instance of it."
        self._note.setText(note)
        self._note.setVisible(bool(note))
        self._show_buttons()

    def run(self) -> None:
        self._bridge.start(f"run Doctor on {self._server}", self._run(), self)

    def stop(self) -> None:
        stopping = self._bridge.ask(lambda engine: engine.doctor.stop(self._server))
        self._bridge.start(f"stop Doctor on {self._server}", stopping, self)

    def copy(self) -> None:
        self._bridge.start(f"copy the Doctor report of {self._server}", self._copy(), self)

    async def _run(self) -> None:
        self.alert.close_all()
        with reported(self.alert, "run", "error"):
            await self._bridge.ask(lambda engine: engine.doctor.start(self._server))

    async def _copy(self) -> None:
        with reported(self.alert, "copy", "error"):
            text = await self._bridge.ask(lambda engine: engine.doctor.text(self._server))
            QGuiApplication.clipboard().setText(text)

    def _on_action_wanted(self, action: Action) -> None:
        if action.kind is ActionKind.LOG_IN:
            self._actions["server.login"].trigger()
        elif action.kind is ActionKind.OPEN_SECRETS:
            has_secrets = self._actions["server.secrets"].isEnabled()
            self._actions["server.secrets" if has_secrets else "server.edit"].trigger()
        else:
            self._bridge.start(f"apply a remedy to {self._server}", self._apply(action), self)

    async def _apply(self, action: Action) -> None:
        self.alert.close_all()
        with reported(self.alert, "apply", "error"):
            await self._bridge.ask(lambda engine: engine.doctor.apply(self._server, action))
            self.remedied.emit()
            await self._run()

    async def _load(self) -> None:
        known = await self._bridge.ask(lambda engine: engine.doctor.latest(self._server))
        if known is not None and self.report is None:
            self._show(known)

    def _on_check_changed(self, report: CheckReport) -> None:
        if report.server == self._server:
            self._show(report)

    def _explain(self) -> None:
        self._stack.explain("empty", "search", "Not checked yet", _INTRODUCTION, action=self.run_action)

    def _show(self, report: CheckReport) -> None:
        self.report = report
        self._stack.open()
        self.summary.setText(report_summary(report))
        is_bad = report.failure is not None
        is_good = not report.is_running and not report.is_stopped and not is_bad
        self.summary.set_tone("error" if is_bad else "ok" if is_good else "text")
        self._spinner.setVisible(report.is_running)
        self.steps.show_results(report.results)
        self._show_findings(report.diagnoses)
        self._show_buttons()

    def _show_findings(self, diagnoses: tuple[Diagnosis, ...]) -> None:
        if diagnoses == tuple(view.diagnosis for view in self.findings):
            return
        for view in self.findings:
            discard(view)
        self.findings = [FindingView(self._theme, diagnosis) for diagnosis in diagnoses]
        for view in self.findings:
            view.action_requested.connect(self._on_action_wanted)
            self._finding_column.addWidget(view)

    def _show_buttons(self) -> None:
        known = self.report
        is_running = known is not None and known.is_running
        is_fine = known is not None and not is_running and not known.is_stopped and known.failure is None
        self.run_action.setText("Run Doctor again" if known is not None else "Run Doctor")
        self._buttons["stop"].setVisible(is_running)
        self._buttons["run"].setVisible(not is_running)
        self._buttons["copy"].setVisible(not is_running)
        can_connect = self._status in (ServerStatus.FAILED, ServerStatus.NEEDS_LOGIN, ServerStatus.IDLE)
        self._buttons["connect"].setVisible(is_fine and can_connect)

    def _make_content(self) -> QWidget:
        page = QWidget()
        page.setMaximumWidth(_MAX_WIDTH)
        head = hbox(None, self._spinner, (self.summary, 1), *self._buttons.values())
        vbox(
            page,
            head,
            self._note,
            self.alert,
            self._finding_column,
            self.steps,
            STRETCH,
            gap=SPACE_3,
            margin=(SPACE_6, SPACE_4, SPACE_6, SPACE_6),
        )
        scroll = QScrollArea()
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(page)
        return scroll

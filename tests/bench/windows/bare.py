"""The baseline: the minimum that shows a table in a Qt window."""

from __future__ import annotations

import sys

from PySide6.QtWidgets import QApplication, QMainWindow, QTableView

from tests.bench.windows.usable import UsableMark


def main() -> int:
    app = QApplication(sys.argv[:1])
    app.setStyle("Fusion")
    window = QMainWindow()
    window.setCentralWidget(QTableView())
    window.resize(1440, 900)
    UsableMark(window)
    window.show()
    return app.exec()


if __name__ == "__main__":
    sys.exit(main())

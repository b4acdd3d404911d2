"""The Qt user interface. Apart from `app`, the only package that imports PySide6.

Imports only go down: window, then panels and dialogs, then views and forms, then widgets and models,
then actions, theme, bridge and link_opener. Panels do not import each other.
Start with `bridge.py`, the only module where the engine thread and the window thread meet; then read
`window/main_window.py`.
"""

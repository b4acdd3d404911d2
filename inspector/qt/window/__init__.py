"""The main window: docks, menus, the workspace of each server, and what each command does.

Start with `mainwindow.py`.
"""

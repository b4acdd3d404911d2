"""The headless application: servers and their sessions, calls, Inbox, logins, captures.

Imports everything below Qt and never PySide6. The window and the command line drive it through `Engine`
and not the layers below. Everything runs on one asyncio loop unless a module says otherwise; the values
in `*.views` modules are frozen and may cross threads.

The packages import `engine.views`, `engine.secrets` and `engine.workers`, and of each other only: `servers`
-> `login`, `inbox`; `tasks` -> `calls` -> `processes`. Start with `engine.py`, then `servers/registry.py`.
"""

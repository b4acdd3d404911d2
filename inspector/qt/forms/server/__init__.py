"""Forms for server entries: the full form, and those for pasted or imported servers.

May import `qt.forms.json`, `qt.models`, `qt.widgets`, `qt.theme`, `config`, values of `engine.servers` and
`base`. Used by the server dialogs, the Welcome panel and the Discovered servers panel.
Start with `server_form.py`.
"""

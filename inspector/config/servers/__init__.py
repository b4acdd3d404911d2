"""Configured servers: entries, the server list file, placeholders, secrets and trust.

Imports `base`, `config.json_file`, `config.secrets`, and the protocol versions of `protocol`. Start with
`entries.py` (a server and its settings), then `server_list.py` (the file). `placeholders.py` and
`entry_secrets.py` say what is filled in before connecting; `trust.py` guards servers from other clients'
files.
"""

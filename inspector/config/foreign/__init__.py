"""Server configurations of other clients: found, read, pasted, imported and exported.

Imports `base`, `protocol.types`, `config.json_file` and `config.servers`. Everything read here is untrusted:
nothing is started, contacted or expanded, and no other client's file is written. Only `reader.py` opens
files.

Start with `discovery.py` (where the files are and what was found), then `formats.py` (the file format of
each client) and `entry_import.py` (one server, converted to an `Entry`). `permissions.py` has Claude Code's
permission rules. `export.py` is the opposite direction.
"""

"""Configuration files: servers, settings, saved calls, reply rules, secrets.

Imports `base`, and from `protocol` its limits and protocol versions. Between the subpackages, imports go
`foreign` -> `servers` -> `secrets`; all of them may import `json_file`. Nothing here needs an event loop:
the functions block on disk, so the engine calls them on threads.

Start with `servers/entries.py` (a configured server), then `servers/server_list.py` (the file that holds
them). `json_file.py` reads and writes the JSON files, `paths.py` says where they are.
"""

"""The preferences file: settings, calls, Inbox, captures, filters and color rules.

Imports `base`, `config.json_file`, and from `protocol` the default message size limit. One JSON file;
each class here reads and writes its own sections and preserves the rest. An invalid member falls back to
its default and is reported in a sentence. Start with `settings.py`, the table of all settings.
"""

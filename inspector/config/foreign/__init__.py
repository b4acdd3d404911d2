"""How other tools write their servers: readers of JSONC and TOML, and one form a tool.

Sans-I/O but for `files`, which opens. Start with `forms`, the table of them.
"""

"""Results prepared for display: content blocks, text formats and JSON trees.

Pure functions of bytes, which run in the worker process for large responses. Imports `engine.workers`,
`traffic.decode`, `protocol` and `base`. Start with `content.py`.
"""

"""Export and import of traffic in other formats, with secrets masked.

Imports `protocol`, `base`, `traffic.captures`, `traffic.masking` and the modules of `traffic` itself.
Start with `writer.py`, which all formats share; then one module per format: `jsonlines.py` (lossless),
`har.py`, `markdown.py`, and `snippets.py` for one exchange. `importer.py` reads files. A writer is a
generator: it yields the number of rows done, so that its caller can show progress and stop, and returns
what the format could not represent.
"""

"""Diagnosis rules: evidence in, `Diagnosis` out.

Import value types of `engine.doctor`, and no checks. One module per area: `network` (URL, DNS, TCP, TLS),
`http`, `login`, `protocol`, `programs`, `output` (of a process) with its table in `output_patterns`. Pure
functions. Start with `network.py`, in the order of the checks.
"""

"""The login flow: one function per step, run in order by `Login`.

Imports the modules of `oauth`, `protocol.auth` and below; none of them imports this package. Start with
`flow.py` (order and control), then `steps.py` (step ids and views) and `context.py` (what a step function
gets). Most other modules hold the steps, in the order discovery, client, identity provider, browser,
tokens, verification; `report.py` shows a login as text.
"""

"""The login flow: one function per step, run in order by `Login`.

Imports the modules of `oauth`, `protocol.auth` and below. `oauth.authorizer` and `oauth.token_endpoint`
in turn use value types of `context.py`. Start with `flow.py` (order and control), then `steps.py` (step
ids and views) and `context.py` (what a step function gets). The other modules hold the steps, in the
order discovery, client, identity provider, browser, tokens, verification.
"""

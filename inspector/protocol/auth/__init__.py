"""OAuth rules without I/O: challenges, metadata, registration, callbacks, tokens.

Imports `base` and the rest of `protocol`; no clock, and no cryptography beyond hashes. Readers never
raise on what a server sent: they return a value and findings about it.

Start with `findings/finding.py` (what can be wrong), then `url_guard.py` (which URLs may be contacted),
then the order of a login: `challenge.py`, `resource_metadata.py`, `server_metadata.py`,
`client_registration.py`, `authorization_request.py`, `token_request.py`, `tokens.py`. One RFC subject per
module.
"""

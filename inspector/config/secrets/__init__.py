"""Secret store: tokens, keys and passwords, encrypted in one file.

Imports `base` and `config.json_file`. A master key is in the system keychain (`keychain.py`) or derived
from a passphrase, so that the file alone reveals nothing; each secret is encrypted under its own key in
one file (`vault_file.py`). Without a keychain and passphrase, secrets are in memory only; plain text is
possible, but only if the user chooses it. `vault_keys.py` holds the keys, `records.py` the naming of
secrets and the value types. keyring and cryptography are imported when first needed: they take 250 ms.
Start with `store.py`.
"""

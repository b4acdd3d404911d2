"""Tokens, keys and passwords that the person gave us, kept so that a file alone does not give them away.

One master key is in the system's keychain (`keychain`), or comes from a passphrase; each secret is sealed
under a key of its own (`sealing`) in one file (`vaultfile`). `store` puts these together, `names` says how
secrets are called. Nothing here imports keyring or cryptography before it needs them: they take 250 ms.
"""

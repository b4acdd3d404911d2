"""Login panel (the Auth tab): an OAuth login to one server, step by step.

Imports as in `qt.panels`. Shows `LoginView` values of `oauth.login.steps` and calls the engine's
`LoginController` through the bridge. Start with `panel.py`.
"""

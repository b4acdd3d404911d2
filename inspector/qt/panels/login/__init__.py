"""The Auth tab: a login to one server, step by step. Start reading at `panel.py`.

It shows `oauth.steps.LoginView` values and asks the engine's logins, through the bridge, for everything else.
"""

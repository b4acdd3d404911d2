"""Tests of the server list, the server dialogs, and the overview, client and discovery panels."""

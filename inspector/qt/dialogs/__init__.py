"""Windows that ask or tell one thing and go away. None blocks the main window."""

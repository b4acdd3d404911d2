"""The Process tab: what runs of a server, how it ended before, and what happens when its files change."""

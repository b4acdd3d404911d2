"""Our own side of a server: what we declare to it, and the folders that it may ask for."""

"""The history: written in the background, searched, exported, and used to find similar answers."""

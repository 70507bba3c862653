"""The history: written in the background, searched, exported, and used for similar answers."""

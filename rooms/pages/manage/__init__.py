"""Pages for managers: new room, and the settings of a room. For all other people they do not exist (404)."""

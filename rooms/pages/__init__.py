"""HTML pages: inbox, room, question, Connect, Settings, and the web app manifest."""

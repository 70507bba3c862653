"""Claude Code's side: what its hooks, its permission prompts and its stream-json say and expect."""

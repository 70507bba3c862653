"""Integration with Claude Code: the formats of its hooks, its permission prompts and its stream-json mode."""

"""HTML: cards, messages, the record of a question, Markdown, numbers and durations."""

"""Limits of the wire contract: lengths, sizes, times and page sizes."""

# Lengths of texts are in characters.
QUESTION_LENGTH = 2_000
LABEL_LENGTH = 200
DESCRIPTION_LENGTH = 1_000
PREVIEW_LENGTH = 8_000
CONTEXT_LENGTH = 8_000
FREE_TEXT_LENGTH = 4_000  # Other, notes, the reason of a skip and a reply instead of a choice
AGENT_NAME_LENGTH = 80
HEADER_LENGTH = 80  # Claude Code does not enforce its own limit of 12; pages cut it where space is short
IDENTIFIER_LENGTH = 200
MESSAGE_LENGTH = 16_000
FOLDER_LENGTH = 1_000
BODY_LIMIT = 64 * 1024  # bytes of a whole request
PAGE_SIZE = 50  # default number of entries in a list
PAGE_LIMIT = 200
LONGEST_WAIT_SECONDS = 55  # servers and proxies give up after 60 seconds without a byte
# The same as in the client's hook command: long enough for a person to see the question, short enough for a
# person at the terminal. A day is the longest timeout that Claude Code accepts for a hook.
HOOK_TIMEOUT_SECONDS = 300
LONGEST_HOOK_TIMEOUT_SECONDS = 86_400
# The least timeout of a question with a default: a person at the page can read a short question and click in
# this time.
LEAST_DEFAULT_SECONDS = 5
LONGEST_TIMEOUT_SECONDS = 30 * 24 * 3600  # no agent waits longer than a month

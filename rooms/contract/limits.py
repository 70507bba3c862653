"""Limits of the wire contract: lengths, sizes, times and page sizes."""

# The limits of the wire contract. Text ones count characters.
QUESTION_LENGTH = 2_000
LABEL_LENGTH = 200
DESCRIPTION_LENGTH = 1_000
PREVIEW_LENGTH = 8_000
CONTEXT_LENGTH = 8_000
FREE_TEXT_LENGTH = 4_000  # Other, notes, the reason of a skip and a reply instead of a choice
AGENT_NAME_LENGTH = 80
HEADER_LENGTH = 80  # Claude Code does not enforce its own 12: accepted, and cut where there is no room
IDENTIFIER_LENGTH = 200
MESSAGE_LENGTH = 16_000
FOLDER_LENGTH = 1_000
BODY_LIMIT = 64 * 1024  # bytes of a whole request
PAGE_SIZE = 50  # entries of a list, unless told otherwise
PAGE_LIMIT = 200
LONGEST_WAIT_SECONDS = 55  # servers and proxies give up after 60 seconds without a byte
# As the client's hook command has it: long enough for somebody to walk by, short enough for whoever sits at
# the terminal. A day is the longest that Claude Code takes for a hook.
HOOK_TIMEOUT_SECONDS = 300
LONGEST_HOOK_TIMEOUT_SECONDS = 86_400
# Of a question with a default. A person at the page can read a short question and click in this time;
# with less the default would decide before any person could.
LEAST_DEFAULT_SECONDS = 5
LONGEST_TIMEOUT_SECONDS = 30 * 24 * 3600  # a question that outlives a month is not waited for

"""Texts of the sample history: enough of them that no two screens look the same."""

from typing import Any

AGENTS = ("refactor-bot", "deploy-bot", "docs-writer", "test-runner", "data-migrator", "release-pilot")
# Former users: the history keeps their names.
FORMER_PEOPLE = (("ida", "Ida Berg"), ("tomas", "Tomás Vega"), ("noor", "Noor Haddad"), ("kim", "Kim Seo"))

SERVICES = (
    "billing",
    "search",
    "checkout",
    "invoices",
    "sign-in",
    "reports",
    "webhooks",
    "uploads",
    "notifications",
    "admin pages",
    "exports",
    "scheduler",
)
BRANCHES = ("main", "retry-imports", "faster-search", "split-settings", "drop-python-310", "new-invoices")

# Bodies of asks as agents send them; `{service}` is replaced by one of the services.
ASKS: tuple[dict[str, Any], ...] = (
    {
        "questions": [
            {
                "question": "Which database should {service} use?",
                "header": "Database",
                "options": [
                    {"label": "PostgreSQL (Recommended)", "description": "Grows with us."},
                    {"label": "SQLite", "description": "One file, nothing to run."},
                ],
            }
        ],
    },
    {
        "questions": [
            {
                "question": "Which checks should gate the release of {service}?",
                "header": "Checks",
                "multiSelect": True,
                "options": [
                    {"label": "Unit tests"},
                    {"label": "Browser tests", "description": "four minutes"},
                    {"label": "Load tests", "description": "half an hour"},
                    {"label": "A second pair of eyes"},
                ],
            }
        ],
    },
    {
        "questions": [
            {
                "question": "May I delete the old tables of {service}?",
                "header": "Delete",
                "options": [
                    {"label": "Keep them (Recommended)"},
                    {"label": "Delete them", "description": "There is a backup of last night."},
                ],
            }
        ],
        "default": {"May I delete the old tables of {service}?": "Keep them (Recommended)"},
    },
    {
        "questions": [
            {
                "question": "How should {service} store its times?",
                "header": "Times",
                "options": [
                    {"label": "UTC, converted when shown (Recommended)"},
                    {"label": "Local time with its offset"},
                ],
            },
            {
                "question": "And the ones that are in {service} already?",
                "header": "Old times",
                "options": [{"label": "Convert them in a migration"}, {"label": "Leave them as they are"}],
            },
        ],
    },
    {
        "questions": [
            {
                "question": "Two tests of {service} fail now and then. What comes first?",
                "header": "Flaky tests",
                "options": [
                    {"label": "Find the cause (Recommended)"},
                    {"label": "Skip them for now"},
                    {"label": "Run them again when they fail"},
                ],
            }
        ],
        "default": {
            "Two tests of {service} fail now and then. What comes first?": "Find the cause (Recommended)"
        },
    },
    {
        "questions": [
            {
                "question": "The release of {service} is ready. When do we ship?",
                "header": "Release",
                "options": [
                    {"label": "Now"},
                    {"label": "Tonight", "description": "after the last import"},
                    {"label": "On Monday (Recommended)"},
                ],
            }
        ],
    },
    {
        "questions": [
            {
                "question": "What should {service} be called in the menu?",
                "header": "Name",
                "options": [{"label": "As now"}, {"label": "Shorter"}, {"label": "By what people do there"}],
            },
            {
                "question": "Where in the menu does {service} belong?",
                "header": "Place",
                "options": [{"label": "First"}, {"label": "Last"}],
            },
            {
                "question": "Who should see {service}?",
                "header": "Who",
                "multiSelect": True,
                "options": [{"label": "Everybody"}, {"label": "Support"}, {"label": "Finance"}],
            },
        ],
    },
    {
        "questions": [
            {
                "question": "The patch for {service} touches 40 files. One change or several?",
                "header": "Size",
                "options": [
                    {"label": "Several, one idea each (Recommended)"},
                    {"label": "One, reviewed together"},
                ],
            }
        ],
    },
)

CONTEXTS = (
    "All tests pass locally.",
    "I read the code of {service} and its tests; both ways are about a day of work.",
    "The last three incidents of {service} had the same cause, see the log above.",
    "",
)

SAID_BY_AGENTS = (
    "I have begun with {service}; the first results come in about ten minutes.",
    "Done with {service}: **12 files** changed, all tests pass.",
    "The import of {service} is slower than yesterday. I look into it and go on with the rest meanwhile.",
    "I found this in {service}:\n\n- an index is missing\n- two queries run in a loop\n- the rest is fine",
    "I stop here for today. The branch of {service} is pushed.",
)
LOGGED = (
    "{service}: 214 tests passed in 38 s",
    "{service}: migrated 10,000 rows",
    "{service}: build finished",
    "{service}: retry 2 of 5 after a timeout",
    "{service}: cache warmed in 1.2 s",
)
SAID_BY_PEOPLE = (
    "Thanks! Please leave {service} alone until the release is out.",
    "Can you also look at {service} while you are at it?",
    "Looks good to me.",
    "The customer confirmed that {service} works again.",
)
OWN_WORDS = (
    "The first one, but behind a switch.",
    "Neither: ask the team of {service}.",
    "Both, one by one.",
)
SKIP_REASONS = ("", "Not now, the release comes first.", "Solved otherwise.")
REPLIES = ("What would it cost for {service}?", "Which of the two is easier to undo?")

"""Version of the rules by which a question is settled.

Processes of two versions may use the same database during an upgrade. Each question carries the version
of the rules that it needs (`Question.needs_version`); a process with an older version leaves it alone.
"""

# Raise it with everything that decides who may answer a question, what counts as an answer, or what happens
# at its deadline: a kind of prompt, an option of care, a rule. `lifecycle/asking.py` then stores the new
# number with the questions that have it; all others keep 1, so that old processes go on settling them.
#
# 1: prompts with options; care with first, votes, undo_seconds and escalate_seconds; defaults
RULES_VERSION = 1

# Sent as Retry-After: the proxy may choose a newer process, or this one is being replaced.
RETRY_SECONDS = 5

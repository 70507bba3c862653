"""What others may listen to: sent after commit, and a listener that fails breaks no request."""

from django.dispatch import Signal

# An agent, or a person who tries the Connect page, asked: `question`, open, with its `room`.
question_asked = Signal()

# A question was answered, declined or withdrawn, or it expired: `question`, whose `status` tells which, with
# its `room` and in `answer_or_none` what was decided.
question_settled = Signal()

# A room has a new revision: `room_id`, `revision`, and where a question changed `question_id` and
# `is_settled`: whether this is the change that settled it.
# Listeners get a hint, not the truth: they read the database for what is there now.
room_changed = Signal()

# The same `question` as for `question_settled`, before everything else: agents wait for it.
result_ready = Signal()

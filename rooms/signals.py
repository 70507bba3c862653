"""What others may listen to; every signal is sent after commit."""

from django.dispatch import Signal

# A room has a new revision: `room_id`, `revision`, and where a question changed `question_id` and
# `is_settled`: whether this is the change that settled it.
# Listeners get a hint, not the truth: they read the database for what is there now.
room_changed = Signal()

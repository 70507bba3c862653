"""Signals for the portal and the app itself.

Except for the last one they are sent after commit, and an error in a receiver fails no request.
"""

from django.dispatch import Signal

# An agent asked a question, or a person a test question on the Connect page: `question`, with its `room`.
question_asked = Signal()

# A question was answered, declined or withdrawn, or it expired, as its `status` says: `question`, with its
# `room` and its `answer_or_none`.
question_settled = Signal()

# A room has a new revision: `room_id`, `revision`, and if a question changed `question_id` and `is_settled`
# (whether this change settled it). It is only a hint: receivers read the current state from the database.
room_changed = Signal()

# The same `question` as for `question_settled`, but sent before all other signals: agents wait for it.
result_ready = Signal()

# The data of a person is exported: `user`. A receiver returns a dictionary of what another app stores about
# the person, which is added to the document. An error in a receiver fails the export.
exporting_person = Signal()

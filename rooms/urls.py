"""All URLs of Ask Bridge, below the prefix at which the portal includes them.

The names are a contract: `live/routing.py` finds the consumers of requests that stay open by URL name.
"""

from django.urls import path, re_path
from django.views.generic import RedirectView

from rooms.api import claude_code as api_claude_code
from rooms.api import messages as api_messages
from rooms.api import probes
from rooms.api import questions as api_questions
from rooms.history import export_views
from rooms.history import views as history_views
from rooms.insights import views as insights_views
from rooms.live import metrics
from rooms.notifications import samples, webhook_views
from rooms.pages import (
    connect,
    correction,
    inbox,
    manifest,
    own_data,
    own_files,
    push_answer,
    question,
    room,
    rooms_list,
    stream,
)
from rooms.pages import settings as settings_page
from rooms.pages.avatar import avatar
from rooms.pages.manage import archive, care, general, invitations, members, new_room, retention
from rooms.pages.manage import keys as room_keys

app_name = "ask_bridge"

# Django tries them in this order, so the most frequent ones are first.
urlpatterns = [
    path("api/v1/rooms/<slug:room>/questions", api_questions.questions, name="api-questions"),
    path("api/v1/rooms/<slug:room>/messages", api_messages.messages, name="api-messages"),
    path("api/v1/rooms/<slug:room>/events", api_messages.events, name="api-events"),
    path("api/v1/rooms/<slug:room>/memory", api_questions.remembered, name="api-memory"),
    path("api/v1/rooms/<slug:room>/hooks/claude-code", api_claude_code.claude_code, name="api-claude-code"),
    path("api/v1/questions/<slug:question_id>", api_questions.question, name="api-question"),
    path("api/v1/questions/<slug:question_id>/wait", api_questions.wait, name="api-wait"),
    path("api/v1/questions/<slug:question_id>/answer", api_questions.answer, name="api-answer"),
    path("api/v1/openapi.json", probes.openapi_document, name="api-openapi"),
    # All else below api/, also an empty rest and line breaks: errors are JSON there.
    re_path(r"^api/", probes.not_found, name="api-not-found"),
    path("rooms/<slug:room>/questions/<slug:question_id>", question.question, name="question"),
    path("rooms/<slug:room>/questions/<slug:question_id>/answer", question.answer, name="answer"),
    path("rooms/<slug:room>/questions/<slug:question_id>/answering", question.answering, name="answering"),
    path("rooms/<slug:room>/questions/<slug:question_id>/undo", question.undo, name="undo"),
    path("rooms/<slug:room>/questions/<slug:question_id>/skip", question.skip, name="skip"),
    path("rooms/<slug:room>/questions/<slug:question_id>/reply", question.ask_back, name="ask-back"),
    path("rooms/<slug:room>/questions/<slug:question_id>/correct", correction.correct, name="correct"),
    path("rooms/<slug:room>/questions/<slug:question_id>/push", push_answer.push_answer, name="push-answer"),
    path("", inbox.inbox, name="inbox"),
    path("stream", stream.stream, name="inbox-stream"),
    path("close-unattended", inbox.close_unattended, name="close-unattended"),
    path("history", history_views.history_page, name="history"),
    path("history/export", export_views.export, name="export"),
    path("history/export.csv", export_views.export_csv, name="export-csv"),
    path("history/export.json", export_views.export_json, name="export-json"),
    path("history/export/progress", export_views.progress, name="export-progress"),
    path("settings", settings_page.settings_page, name="settings"),
    path("insights", insights_views.overall, name="insights"),
    path("insights/export.csv", insights_views.export_csv, name="insights-csv"),
    path("insights/export.json", insights_views.export_json, name="insights-json"),
    path("settings/devices", settings_page.devices, name="devices"),
    path("settings/try", settings_page.try_out, name="try-notices"),
    path("settings/data", own_data.own_data, name="own-data"),
    path("settings/tried", samples.tried, name="tried-notices"),
    path("avatars/<str:token>", avatar, name="avatar"),
    path("service-worker.js", manifest.service_worker, name="service-worker"),
    path("manifest.webmanifest", manifest.manifest, name="manifest"),
    path("rooms", rooms_list.rooms_list, name="rooms"),
    # Before the pages of rooms: no room has one of these slugs.
    path("rooms/new", new_room.new_room, name="new-room"),
    path("rooms/archived", new_room.archived_rooms, name="archived-rooms"),
    path("join/<str:token>", invitations.join, name="join"),
    path("rooms/<slug:room>", room.room, name="room"),
    path("rooms/<slug:room>/", RedirectView.as_view(pattern_name="ask_bridge:room")),
    path("rooms/<slug:room>/stream", stream.stream, name="room-stream"),
    path("rooms/<slug:room>/messages", room.post_message, name="post-message"),
    path("rooms/<slug:room>/mute", settings_page.mute, name="mute"),
    path("rooms/<slug:room>/insights", insights_views.of_room, name="room-insights"),
    path("rooms/<slug:room>/connect", connect.connect, name="connect"),
    path("rooms/<slug:room>/connect/keys", connect.keys, name="connect-keys"),
    path("rooms/<slug:room>/connect/steps", connect.steps, name="connect-steps"),
    path("rooms/<slug:room>/connect/test", connect.send_test_question, name="send-test-question"),
    path("rooms/<slug:room>/connect/rotate", connect.rotate_key, name="rotate-key"),
    path("rooms/<slug:room>/connect/revoke", connect.revoke_key, name="revoke-key"),
    path("rooms/<slug:room>/connect/closing", connect.close_questions_after, name="close-questions-after"),
    path("rooms/<slug:room>/webhooks", webhook_views.webhooks_page, name="webhooks"),
    path("rooms/<slug:room>/webhooks/try", webhook_views.try_out, name="try-webhook"),
    path("rooms/<slug:room>/webhooks/switch", webhook_views.switch, name="switch-webhook"),
    path("rooms/<slug:room>/webhooks/remove", webhook_views.remove, name="remove-webhook"),
    path("rooms/<slug:room>/manage", general.general, name="manage"),
    path("rooms/<slug:room>/manage/members", members.members, name="manage-members"),
    path("rooms/<slug:room>/manage/members/add", members.add, name="add-member"),
    path("rooms/<slug:room>/manage/members/role", members.change_role, name="change-role"),
    path("rooms/<slug:room>/manage/members/remove", members.remove, name="remove-member"),
    path("rooms/<slug:room>/manage/members/invite", invitations.invite, name="invite"),
    path("rooms/<slug:room>/manage/members/revoke", invitations.revoke, name="revoke-invitation"),
    path("rooms/<slug:room>/manage/care", care.care, name="manage-care"),
    path("rooms/<slug:room>/manage/keys", room_keys.keys, name="manage-keys"),
    path("rooms/<slug:room>/manage/keys/rotate", room_keys.rotate, name="manage-rotate-key"),
    path("rooms/<slug:room>/manage/keys/revoke", room_keys.revoke, name="manage-revoke-key"),
    path("rooms/<slug:room>/manage/retention", retention.retention, name="manage-retention"),
    path("rooms/<slug:room>/manage/archive", archive.archive, name="manage-archive"),
    path("ask-bridge.pyz", connect.client_archive, name="client-archive"),
    path("files/<path:path>", own_files.own_file, name="own-file"),
    path("healthz", probes.healthz, name="healthz"),
    path("readyz", probes.readyz, name="readyz"),
    path("metrics", metrics.metrics, name="metrics"),
]

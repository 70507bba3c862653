"""The Django app: its label, and the receivers that it connects."""

from django.apps import AppConfig


class RoomsConfig(AppConfig):
    name = "rooms"
    # A portal may have its own app "rooms", and a label cannot change after the first migration.
    label = "ask_bridge"
    verbose_name = "Ask Bridge"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.conf import settings
        from django.core.handlers.wsgi import WSGIHandler
        from django.core.signals import request_started
        from django.db.backends.signals import connection_created
        from django.db.models.signals import post_delete, post_migrate, post_save, pre_delete

        from rooms import audit, checks  # noqa: F401 -- the checks register themselves
        from rooms.db.collation import compare_texts_exactly
        from rooms.insights import percentiles
        from rooms.live.background import sweep_on_request
        from rooms.live.hub import hub
        from rooms.models import GroupMembership, Membership
        from rooms.privacy import people
        from rooms.signals import result_ready, room_changed

        result_ready.connect(hub.hand_over, dispatch_uid="ask_bridge.hub")
        room_changed.connect(hub.announce, dispatch_uid="ask_bridge.hub")
        request_started.connect(sweep_on_request, WSGIHandler, dispatch_uid="ask_bridge.wsgi")
        connection_created.connect(percentiles.prepare_connection, dispatch_uid="ask_bridge.percentiles")
        post_migrate.connect(compare_texts_exactly, self, dispatch_uid="ask_bridge.collation")
        for model in (Membership, GroupMembership):
            post_save.connect(audit.record_saved_member, model, dispatch_uid="ask_bridge.audit")
            post_delete.connect(audit.record_removed_member, model, dispatch_uid="ask_bridge.audit")
        account = settings.AUTH_USER_MODEL
        pre_delete.connect(people.before_deletion, account, dispatch_uid="ask_bridge.people")
        post_delete.connect(people.after_deletion, account, dispatch_uid="ask_bridge.people")

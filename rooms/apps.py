from django.apps import AppConfig


class RoomsConfig(AppConfig):
    name = "rooms"
    # A portal may have an app called "rooms" of its own, and a label cannot change once migrations ran.
    label = "ask_bridge"
    verbose_name = "Ask Bridge"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from rooms.hub import hub
        from rooms.signals import room_changed

        room_changed.connect(hub.announce, dispatch_uid="ask_bridge.hub")

from django.core.asgi import get_asgi_application

application = get_asgi_application()

from rooms.live import with_live  # noqa: E402 -- Django has to be set up first

application = with_live(application)

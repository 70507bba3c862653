"""The standalone site: a Django project for teams without a portal."""

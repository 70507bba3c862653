"""The standalone site, for teams without a portal of their own."""

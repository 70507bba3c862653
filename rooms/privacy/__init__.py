"""Data over years: removal of old entries, people who become anonymous, and export of a person's data."""

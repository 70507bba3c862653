"""Data about people beside their accounts: presence and page preferences."""

"""What is stored about people beside their accounts: presence and preferences."""

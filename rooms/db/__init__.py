"""Access to the database: write transactions, compiled statements, the thread pool, readiness."""

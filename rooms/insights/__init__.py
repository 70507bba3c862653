"""Statistics of settled questions: figures, charts, export, pages."""

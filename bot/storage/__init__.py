"""The bot's database: SQLite or PostgreSQL, its copies, and what people said that it remembers."""

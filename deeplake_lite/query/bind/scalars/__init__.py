"""SQL for scalars that follows the rules of the language: numbers, times, JSON, bytes, lists."""

"""What datasets, views, columns and diffs show of themselves: placeholder until the summaries are wired."""

from typing import Any


def view_text(view: Any) -> str:
    return f"<{type(view).__name__} {len(view)} rows {view.columns}>"


def view_html(view: Any) -> str:
    return view_text(view)


def column_text(column: Any) -> str:
    return f"<Column {column.name}>"


def column_html(column: Any) -> str:
    return column_text(column)


def diff_text(diff: Any) -> str:
    return "<Diff>"


def diff_html(diff: Any) -> str:
    return "<Diff>"


def plain(value: Any) -> Any:
    return value

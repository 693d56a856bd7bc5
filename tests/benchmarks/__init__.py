"""Speed and memory compared with peers: one file per topic, one row per figure, no time limits.

Run them with ``uv run --all-extras --group bench pytest tests/benchmarks -m bench -s``.
"""

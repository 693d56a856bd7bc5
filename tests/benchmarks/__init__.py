"""Speed and memory beside the peers: one file per topic, one row per figure, no assertion on time.

Run them with ``uv run --all-extras --group bench pytest tests/benchmarks -m bench -s``.
"""

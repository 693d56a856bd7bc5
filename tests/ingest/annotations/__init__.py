"""Tests of the imports and exports of annotated images."""

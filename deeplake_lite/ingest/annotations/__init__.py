"""Ingesting annotated images: PASCAL VOC, CVAT, Label Studio and FiftyOne."""

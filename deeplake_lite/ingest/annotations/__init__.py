"""Ingesting formats of annotated images: PASCAL VOC, CVAT, Label Studio and FiftyOne."""

"""Export of annotated images: COCO, YOLO, PASCAL VOC, CVAT, Label Studio and FiftyOne."""

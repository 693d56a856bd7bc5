"""Export of images with annotations: COCO and YOLO."""

-- the query of the paper
SELECT image[1:5, 1:5, 0:2] AS crop, NORMALIZE(boxes, [100, 100, 400, 400]) AS box FROM dataset WHERE IOU(boxes, "training/boxes") > 0.95 AND NDIM(image) = 3 ORDER BY IOU(boxes, "training/boxes") ARRANGE BY label
=> rows (lambda f: sorted(f, key=lambda r: [x.label for x in f].index(r.label)))(sorted([r for r in rows if r.image.ndim == 3 and iou(r.boxes, r.training_boxes) > 0.95], key=lambda r: iou(r.boxes, r.training_boxes)))
=> crop: r.image[1:5, 1:5, 0:2]
=> box: normalize(r.boxes, [100, 100, 400, 400])

-- IOU of boxes
SELECT id, IOU(boxes, "training/boxes") AS i FROM dataset
=> id: r.id
=> i: iou(r.boxes, r.training_boxes)

-- IOU of boxes of two formats
SELECT id, IOU(boxes, predicted) AS i FROM dataset
=> id: r.id
=> i: iou(r.boxes, corners(r.predicted))

-- IOU in WHERE and ORDER BY
SELECT id FROM dataset WHERE IOU(boxes, predicted) < 1 ORDER BY IOU(boxes, predicted), id
=> where iou(r.boxes, corners(r.predicted)) < 1
=> order (iou(r.boxes, corners(r.predicted)), r.id)
=> id: r.id

-- IOU of no boxes
SELECT id, IOU(boxes, predicted) AS i FROM dataset WHERE id % 4 = 0
=> where r.id % 4 == 0
=> id: r.id
=> i: 1.0

-- IOU_MATRIX
SELECT id, IOU_MATRIX(boxes, predicted) AS m FROM dataset
=> id: r.id
=> m: iou_matrix(r.boxes, corners(r.predicted))

-- IOU with literal boxes
SELECT id, IOU(boxes, [[0, 0, 20, 20]]) AS i FROM dataset
=> id: r.id
=> i: iou(r.boxes, [[0, 0, 20, 20]])

-- areas
SELECT id, AREA(boxes) AS a, AREA(predicted) AS b FROM dataset
=> id: r.id
=> a: area(r.boxes)
=> b: r.predicted[:, 2] * r.predicted[:, 3]

-- boxes above a size
SELECT id FROM dataset WHERE ANY(AREA(boxes) > 1500)
=> where (area(r.boxes) > 1500).any()
=> id: r.id

-- boxes in another format
SELECT BOX_CONVERT(predicted, 'xyxy') AS a, BOX_CONVERT(boxes, 'cxcywh') AS b FROM dataset
=> a: corners(r.predicted)
=> b: np.concatenate([(r.boxes[:, :2] + r.boxes[:, 2:]) / 2, r.boxes[:, 2:] - r.boxes[:, :2]], 1)

-- widths of boxes
SELECT boxes[:, 2] - boxes[:, 0] AS w FROM dataset
=> w: r.boxes[:, 2] - r.boxes[:, 0]

-- boxes that were cut keep their format
SELECT IOU(predicted[:1], boxes[:1]) AS i FROM dataset
=> i: iou(corners(r.predicted[:1]), r.boxes[:1])

-- boxes as parts of a window
SELECT NORMALIZE(boxes, [10, 20, 110, 220]) AS b FROM dataset
=> b: normalize(r.boxes, [10, 20, 110, 220])

-- boxes around masks
SELECT id, MASK_TO_BOXES(objects) AS b FROM dataset
=> id: r.id
=> b: np.array([mask_box(m) for m in r.objects], 'float32').reshape(-1, 4)

-- areas of masks
SELECT AREA(objects) AS a FROM dataset
=> a: r.objects.sum((1, 2))

-- a part of an image
SELECT CROP(image, [1, 2, 6, 5]) AS c FROM dataset
=> c: r.image[2:5, 1:6]

-- a part of an image beyond its edge
SELECT CROP(image, [-5, 3, 100, 100]) AS c FROM dataset
=> c: r.image[3:, :]

-- the part of an image in its first box
SELECT id, CROP(image, boxes[0] / 10) AS c FROM dataset WHERE SHAPE(boxes)[0] > 0
=> where len(r.boxes)
=> id: r.id
=> c: crop(r.image, r.boxes[0] / 10)

-- an image in another size
SELECT SHAPE(RESIZE(image, 4, 6)) AS s FROM dataset
=> s: np.array((4, 6) + r.image.shape[2:])

-- a mask in another size has its classes only
SELECT id FROM dataset WHERE MAX(RESIZE(mask, 3, 3)) <= MAX(mask) AND ALL(RESIZE(mask, 8, 8) <> 3)
=> id: r.id

-- the mean of an image
SELECT id, MEAN(image) AS m FROM dataset WHERE MEAN(image) > 125
=> where r.image.mean() > 125
=> id: r.id
=> m: r.image.mean()

-- the mean per channel
SELECT id, MEAN(image, axis = [0, 1]) AS m FROM dataset WHERE NDIM(image) = 3
=> where r.image.ndim == 3
=> id: r.id
=> m: r.image.mean((0, 1))

-- an image turned
SELECT image[:, ::-1] AS m, image[::-1] AS f FROM dataset
=> m: r.image[:, ::-1]
=> f: r.image[::-1]

-- an inverted image
SELECT 255 - image AS i FROM dataset
=> i: 255 - r.image.astype(int)

-- dark parts of an image
SELECT id, SUM(image < 20) AS c FROM dataset ORDER BY c DESC, id LIMIT 5
=> rows sorted(rows, key=lambda r: (-(r.image < 20).sum(), r.id))[:5]
=> id: r.id
=> c: int((r.image < 20).sum())

-- a mask on an image
SELECT id, SUM(mask = 2) AS c FROM dataset WHERE SUM(mask = 2) > SUM(mask = 1)
=> where (r.mask == 2).sum() > (r.mask == 1).sum()
=> id: r.id
=> c: int((r.mask == 2).sum())

-- classes of a mask
SELECT id, UNIQUE(mask) AS u FROM dataset
=> id: r.id
=> u: np.unique(r.mask)

-- boxes keep their format under a mask, and one of them too
SELECT id, AREA(predicted[predicted[:, 2] > 20]) AS a, AREA(predicted[0]) AS b FROM dataset WHERE SHAPE(predicted)[0] > 0
=> where len(r.predicted)
=> id: r.id
=> a: area(corners(r.predicted[r.predicted[:, 2] > 20]))
=> b: area(corners(r.predicted[:1]))[0]

-- boxes keep their format in arithmetic
SELECT id, AREA(predicted * 2) AS a, IOU(ROUND(predicted + [0, 0, 1, 1]), boxes) AS i FROM dataset
=> id: r.id
=> a: area(corners(r.predicted)) * 4
=> i: iou(corners(r.predicted + [0, 0, 1, 1]), r.boxes)

-- boxes of two formats do not add up
SELECT boxes - predicted AS d FROM dataset
=> error QueryTypeError: boxes must have the same format, but they are xywh and xyxy

-- CASE of boxes of two formats
SELECT CASE WHEN flag THEN boxes ELSE predicted END AS b FROM dataset
=> error QueryTypeError: CASE must be given boxes of the same format, but they are xywh and xyxy

-- CASE of a tensor, and nothing
SELECT id, CASE WHEN id > 30 THEN grid END AS a, CASE WHEN id > 30 THEN vec ELSE NULL END AS b FROM dataset
=> id: r.id
=> a: r.grid if r.id > 30 else None
=> b: r.vec if r.id > 30 else None

-- an element
SELECT grid[1, 2] AS e FROM dataset
=> e: r.grid[1, 2]

-- a negative index
SELECT grid[-1, -1] AS e, grid[-1] AS f FROM dataset
=> e: r.grid[-1, -1]
=> f: r.grid[-1]

-- chained indices
SELECT grid[1][2] AS e FROM dataset
=> e: r.grid[1][2]

-- slices of two axes
SELECT grid[0:2, 1:3] AS s FROM dataset
=> s: r.grid[0:2, 1:3]

-- a step
SELECT grid[:, ::2] AS s, grid[::2] AS t FROM dataset
=> s: r.grid[:, ::2]
=> t: r.grid[::2]

-- a negative step
SELECT grid[::-1, ::-2] AS s FROM dataset
=> s: r.grid[::-1, ::-2]

-- slices with negative ends
SELECT grid[-2:, :-1] AS s FROM dataset
=> s: r.grid[-2:, :-1]

-- slices beyond the end
SELECT grid[1:100, 50:] AS s FROM dataset
=> s: r.grid[1:100, 50:]

-- an ellipsis
SELECT boxes[..., 2] AS s, image[..., 0] AS t FROM dataset
=> s: r.boxes[..., 2]
=> t: r.image[..., 0]

-- an ellipsis in front and behind
SELECT grid[1, ...] AS a, grid[..., 1:3] AS b FROM dataset
=> a: r.grid[1, ...]
=> b: r.grid[..., 1:3]

-- an index by a column
SELECT grid[id % 3, small % 4] AS e FROM dataset
=> e: r.grid[r.id % 3, r.small % 4]

-- a slice by a column
SELECT grid[:, :id % 4] AS s FROM dataset
=> s: r.grid[:, :r.id % 4]

-- the last box
SELECT id, boxes[-1] AS b FROM dataset WHERE SIZE(boxes) > 0
=> where len(r.boxes)
=> id: r.id
=> b: r.boxes[-1]

-- an index in WHERE
SELECT id FROM dataset WHERE grid[0, 0] > 0 AND bytes[1, 2] < 128
=> where r.grid[0, 0] > 0 and r.bytes[1, 2] < 128
=> id: r.id

-- an image's channel
SELECT id, image[:, :, 2] AS c FROM dataset WHERE NDIM(image) = 3
=> where r.image.ndim == 3
=> id: r.id
=> c: r.image[:, :, 2]

-- an image's part with steps
SELECT image[1:5, ::2] AS p FROM dataset
=> p: r.image[1:5, ::2]

-- arithmetic of a tensor and a number
SELECT grid * 2 + 1 AS a, 1 - grid AS b, grid / 4 AS c, -grid AS d FROM dataset
=> a: r.grid * 2 + 1
=> b: 1 - r.grid
=> c: r.grid / 4
=> d: -r.grid

-- small integers are widened before arithmetic
SELECT bytes + bytes AS a, bytes * 3 AS b, bytes - 200 AS c, -bytes AS d FROM dataset
=> a: r.bytes.astype(int) * 2
=> b: r.bytes.astype(int) * 3
=> c: r.bytes.astype(int) - 200
=> d: -r.bytes.astype(int)

-- floor division, remainder and powers
SELECT bytes // 7 AS a, bytes % 7 AS b, bytes ** 2 AS c, grid ** 2 AS d FROM dataset
=> a: r.bytes // 7
=> b: r.bytes % 7
=> c: r.bytes.astype(int) ** 2
=> d: r.grid ** 2

-- a tensor and a column of scalars
SELECT grid + id AS a, bytes * small AS b FROM dataset
=> a: r.grid + np.float32(r.id)
=> b: r.bytes.astype(int) * r.small

-- a tensor and a null
SELECT grid * n AS a FROM dataset WHERE id < 13
=> where r.id < 13
=> a: None if r.n is None else r.grid * r.n

-- two tensors broadcast
SELECT grid[0] + grid AS a, grid[:, :1] * grid[:1] AS b FROM dataset
=> a: r.grid[0] + r.grid
=> b: r.grid[:, :1] * r.grid[:1]

-- comparisons go element by element
SELECT grid > 0 AS a, bytes = 7 AS b, grid[0] <= grid[1] AS c FROM dataset
=> a: r.grid > 0
=> b: r.bytes == 7
=> c: r.grid[0] <= r.grid[1]

-- logic of tensors
SELECT grid > 0 AND grid < 1 AS a, NOT grid > 0 AS b, bytes > 250 OR bytes < 5 AS c FROM dataset
=> a: (r.grid > 0) & (r.grid < 1)
=> b: ~(r.grid > 0)
=> c: (r.bytes > 250) | (r.bytes < 5)

-- BETWEEN of tensors
SELECT MEAN(bytes BETWEEN 50 AND 200) AS m FROM dataset
=> m: ((r.bytes >= 50) & (r.bytes <= 200)).mean()

-- ANY and ALL in WHERE
SELECT id FROM dataset WHERE ANY(grid > 2) OR ALL(bytes < 200)
=> where (r.grid > 2).any() or (r.bytes < 200).all()
=> id: r.id

-- ANY and ALL along an axis
SELECT ANY(grid > 1, axis = 0) AS a, ALL(grid > -1, axis = 1) AS b FROM dataset
=> a: (r.grid > 1).any(0)
=> b: (r.grid > -1).all(1)

-- ANY and ALL of nothing
SELECT id, ANY(boxes > 0) AS a, ALL(boxes > 1000) AS b FROM dataset WHERE id % 4 = 0
=> where r.id % 4 == 0
=> id: r.id
=> a: False
=> b: True

-- sums and means
SELECT SUM(grid) AS a, MEAN(grid) AS b, AVG(grid) AS c, PROD(grid) AS d, SUM(bytes) AS e FROM dataset
=> a: r.grid.sum()
=> b: r.grid.mean()
=> c: r.grid.mean()
=> d: r.grid.prod()
=> e: int(r.bytes.sum())

-- along an axis
SELECT SUM(grid, axis = 0) AS a, MEAN(grid, axis = 1) AS b, MAX(grid, 0) AS c, MIN(bytes, axis = -1) AS d FROM dataset
=> a: r.grid.sum(0)
=> b: r.grid.mean(1)
=> c: r.grid.max(0)
=> d: r.bytes.min(-1)

-- along two axes
SELECT MEAN(image, axis = [0, 1]) AS m FROM dataset
=> m: r.image.mean((0, 1))

-- minima, maxima and their places
SELECT MIN(grid) AS a, MAX(grid) AS b, ARGMIN(grid) AS c, ARGMAX(grid) AS d, ARGMAX(grid, axis = 1) AS e FROM dataset
=> a: r.grid.min()
=> b: r.grid.max()
=> c: int(r.grid.argmin())
=> d: int(r.grid.argmax())
=> e: r.grid.argmax(1)

-- spread
SELECT STD(grid) AS a, VAR(grid) AS b, MEDIAN(grid) AS c, STD(bytes, axis = 0) AS d FROM dataset
=> a: r.grid.std()
=> b: r.grid.var()
=> c: np.median(r.grid)
=> d: r.bytes.std(0)

-- per row by name
SELECT AMIN(grid) AS a, AMAX(grid) AS b, ASUM(grid) AS c, AMEAN(grid) AS d, ASTD(grid) AS e FROM dataset
=> a: r.grid.min()
=> b: r.grid.max()
=> c: r.grid.sum()
=> d: r.grid.mean()
=> e: r.grid.std()

-- reductions of nothing
SELECT id, SUM(ragged) AS a, PROD(ragged) AS b, MEAN(ragged) AS c FROM dataset WHERE id % 4 = 0
=> where r.id % 4 == 0
=> id: r.id
=> a: 0.0
=> b: 1.0
=> c: None

-- extremes of nothing are null
SELECT id, MIN(ragged) AS a, MAX(boxes) AS b FROM dataset WHERE id % 4 = 0
=> where r.id % 4 == 0
=> id: r.id
=> a: None
=> b: None

-- of a nullable column
SELECT id, SUM(vec) AS a, vec[0] AS b, vec * 2 AS c FROM dataset
=> id: r.id
=> a: None if r.vec is None else r.vec.sum()
=> b: None if r.vec is None else r.vec[0]
=> c: None if r.vec is None else r.vec * 2

-- null tensors
SELECT id FROM dataset WHERE vec IS NULL
=> where r.vec is None
=> id: r.id

-- tensors that are not null
SELECT id FROM dataset WHERE vec IS NOT NULL AND SUM(vec) > 20
=> where r.vec is not None and r.vec.sum() > 20
=> id: r.id

-- a null tensor satisfies no condition
SELECT id FROM dataset WHERE SUM(vec) > 20 OR SUM(vec) <= 20
=> where r.vec is not None
=> id: r.id

-- shapes
SELECT SHAPE(image) AS a, SHAPE(boxes)[0] AS b, NDIM(grid) AS c, SIZE(ragged) AS d FROM dataset
=> a: np.array(r.image.shape)
=> b: len(r.boxes)
=> c: 2
=> d: r.ragged.size

-- shapes in WHERE
SELECT id FROM dataset WHERE SHAPE(image)[0] > 9 AND SHAPE(image)[1] = 10
=> where r.image.shape[0] > 9 and r.image.shape[1] == 10
=> id: r.id

-- a shape compared as a whole
SELECT id FROM dataset WHERE ALL(SHAPE(grid) = [3, 4]) AND id < 4
=> where r.id < 4
=> id: r.id

-- the last length of a shape
SELECT id, SHAPE(image)[-1] AS c FROM dataset
=> id: r.id
=> c: r.image.shape[-1]

-- shapes of computed tensors
SELECT SHAPE(boxes[:1]) AS a, SIZE(image[::2]) AS b, NDIM(grid[0]) AS c FROM dataset
=> a: np.array(r.boxes[:1].shape)
=> b: r.image[::2].size
=> c: 1

-- elementwise functions
SELECT ABS(grid) AS a, SQRT(ABS(grid)) AS b, EXP(grid) AS c, ROUND(grid, 1) AS d, CLIP(grid, -0.5, 0.5) AS e FROM dataset
=> a: np.abs(r.grid)
=> b: np.sqrt(np.abs(r.grid))
=> c: np.exp(r.grid)
=> d: np.round(r.grid, 1)
=> e: np.clip(r.grid, -0.5, 0.5)

-- warnings become NaN and infinity
SELECT SQRT(grid) AS a, LOG(grid) AS b, grid / 0 AS c, bytes / 0 AS d FROM dataset
=> a: np.sqrt(r.grid)
=> b: np.log(r.grid)
=> c: r.grid / np.float32(0)
=> d: r.bytes / np.float64(0)

-- whole numbers divided by zero
SELECT bytes // 0 AS a, bytes % 0 AS b FROM dataset
=> a: r.bytes // 0
=> b: r.bytes % 0

-- transposed and reshaped
SELECT TRANSPOSE(grid) AS a, RESHAPE(grid, [4, 3]) AS b, RESHAPE(grid, [2, -1]) AS c, FLATTEN(grid) AS d, TRANSPOSE(image, [1, 0, 2])[0] AS e FROM dataset WHERE NDIM(image) = 3
=> where r.image.ndim == 3
=> a: r.grid.T
=> b: r.grid.reshape(4, 3)
=> c: r.grid.reshape(2, -1)
=> d: r.grid.ravel()
=> e: r.image.transpose(1, 0, 2)[0]

-- sorted, unique and nonzero
SELECT SORT(grid) AS a, SORT(grid, axis = 0) AS b, UNIQUE(bytes % 4) AS c, NONZERO(grid > 1) AS d FROM dataset
=> a: np.sort(r.grid)
=> b: np.sort(r.grid, 0)
=> c: np.unique(r.bytes % 4)
=> d: np.argwhere(r.grid > 1)

-- CONTAINS a number
SELECT id FROM dataset WHERE CONTAINS(numbers, 3) OR CONTAINS(bytes, 7)
=> where 3 in r.numbers or (r.bytes == 7).any()
=> id: r.id

-- NORMALIZE of values
SELECT NORMALIZE(grid) AS a, NORMALIZE(bytes, [0, 255]) AS b FROM dataset
=> a: (r.grid - r.grid.min()) / (r.grid.max() - r.grid.min())
=> b: r.bytes / 255

-- functions of sequences
SELECT id, SUM(numbers) AS a, SIZE(numbers) AS b, numbers[0] AS c FROM dataset WHERE SIZE(numbers) > 0
=> where r.numbers
=> id: r.id
=> a: sum(r.numbers)
=> b: len(r.numbers)
=> c: r.numbers[0]

-- the order of operations on tensors
SELECT MEAN((grid - MEAN(grid)) ** 2) AS a FROM dataset
=> a: r.grid.var()

-- a tensor of an alias
SELECT grid * 2 AS g, SUM(g) AS s FROM dataset WHERE MAX(g) > 3
=> where (r.grid * 2).max() > 3
=> g: r.grid * 2
=> s: (r.grid * 2).sum()

-- tensors in every clause
SELECT id FROM dataset WHERE MAX(grid) > 1 ORDER BY MIN(grid) LIMIT 12 ARRANGE BY ARGMAX(grid) % 2
=> rows (lambda f: sorted(f, key=lambda r: [x.grid.argmax() % 2 for x in f].index(r.grid.argmax() % 2)))(sorted([r for r in rows if r.grid.max() > 1], key=lambda r: r.grid.min())[:12])
=> id: r.id

-- equal tensors
SELECT a.id FROM dataset AS a JOIN dataset VERSION 'v1' AS b ON a.id = b.id WHERE ALL(a.grid = b.grid)
=> duckdb SELECT id FROM old

-- an array of literals and a tensor
SELECT grid[0] * ARRAY[1, 0, 0, 1] AS a, grid + [[1], [2], [3]] AS b FROM dataset
=> a: r.grid[0] * [1, 0, 0, 1]
=> b: r.grid + [[1], [2], [3]]

-- a cast of a tensor's reduction
SELECT CAST(MEAN(bytes) AS INT) AS a, CAST(MAX(bytes) AS TEXT) || '!' AS b FROM dataset
=> a: int(np.rint(r.bytes.mean()))
=> b: f'{r.bytes.max()}!'

-- NaN in a tensor
SELECT id, MAX(grid + value) AS a, ANY(grid + value > 0) AS b FROM dataset WHERE id < 8
=> where r.id < 8
=> id: r.id
=> a: (r.grid + r.value).max()
=> b: (r.grid + r.value > 0).any()

-- masks
SELECT emb[emb > 0] AS a, grid[grid > 1] AS b, boxes[boxes[:, 0] > 10, 2] AS c, image[image > 250] AS d FROM dataset
=> a: r.emb[r.emb > 0]
=> b: r.grid[r.grid > 1]
=> c: r.boxes[r.boxes[:, 0] > 10, 2]
=> d: r.image[r.image > 250]

-- boxes behind a mask are boxes
SELECT IOU(predicted[AREA(predicted) > 300], predicted) AS i FROM dataset
=> i: iou(corners(r.predicted[area(corners(r.predicted)) > 300]), corners(r.predicted))

-- new axes
SELECT emb[None] AS a, grid[:, None, :1] AS b, bytes[..., None] AS c FROM dataset
=> a: r.emb[None]
=> b: r.grid[:, None, :1]
=> c: r.bytes[..., None]

-- lists of indices
SELECT emb[[0, 2]] AS a, grid[[0, 2], [1, 3]] AS b, grid[:, [0, 2]] AS c, bytes[:, [True, False, True]] AS d FROM dataset
=> a: r.emb[[0, 2]]
=> b: r.grid[[0, 2], [1, 3]]
=> c: r.grid[:, [0, 2]]
=> d: r.bytes[:, [True, False, True]]

-- lists of indices apart from one another
SELECT bytes[0, None, [0, 2]] AS a, grid[:, None][[0, 1], :, [2, 3]] AS b FROM dataset
=> a: r.bytes[0, None, [0, 2]]
=> b: r.grid[:, None][[0, 1], :, [2, 3]]

-- an index that is no whole number
SELECT bytes[0.5] AS a FROM dataset
=> error QueryTypeError: An index must be a whole number | but in bytes[0.5] it is float64

-- an index that is computed, and no whole number
SELECT emb[id / 2] AS a FROM dataset WHERE id = 1
=> error QueryError: an index must be an integer, but it is 0.5

-- positions that are no whole numbers
SELECT grid[emb] AS a FROM dataset
=> error QueryTypeError: in grid[emb] it is float32 (4,)

-- a list with an index outside
SELECT emb[[0, 5]] AS a FROM dataset
=> error QueryTypeError: index 5 is out of range for an axis of length 4

-- casts of tensors, types as in SQL
SELECT CAST(bytes AS FLOAT) AS a, CAST(grid AS INT) AS b, CAST(image > 128 AS DOUBLE) AS c FROM dataset
=> a: r.bytes.astype("float32")
=> b: r.grid.astype("int32")
=> c: (r.image > 128).astype("float64")

-- casts of tensors, types as in NumPy
SELECT CAST(bytes AS int8) AS a, CAST(grid AS "float16") AS b, MEAN(CAST(image AS float32)) AS c, CAST(score AS float32) AS d FROM dataset
=> a: r.bytes.astype("int8")
=> b: r.grid.astype("float16")
=> c: r.image.mean()
=> d: r.score

-- a tensor has no text
SELECT CAST(grid AS VARCHAR) AS a FROM dataset
=> error QueryTypeError: A tensor can be CAST only to numbers, such as FLOAT or uint8, but grid, which is float32 (3, 4), is cast to VARCHAR

-- masks connected as in NumPy
SELECT SUM((grid > 0) & (grid < 1)) AS a, SUM((grid < 0) | (grid > 1)) AS b, ANY(~(grid > 1)) AS c FROM dataset
=> a: int(((r.grid > 0) & (r.grid < 1)).sum())
=> b: int(((r.grid < 0) | (r.grid > 1)).sum())
=> c: bool((~(r.grid > 1)).any())

-- & without parentheses
SELECT ANY(grid > 1 & grid < 2) AS a FROM dataset
=> error QueryTypeError: (x > 1) & (x < 2)

-- lengths
SELECT LEN(boxes) AS a, LENGTH(emb) AS b, LEN(words) AS c, LEN(boxes[1:]) AS d, LEN(text) AS e FROM dataset WHERE LEN(numbers) > 1
=> where len(r.numbers) > 1
=> a: len(r.boxes)
=> b: 4
=> c: len(r.words)
=> d: len(r.boxes[1:])
=> e: len(r.text)

-- functions behind a dot
SELECT grid.mean(axis=0) AS a, grid.max() AS b, text.upper() AS c FROM dataset
=> a: r.grid.mean(axis=0)
=> b: float(r.grid.max())
=> c: r.text.upper()

-- COALESCE of tensors
SELECT COALESCE(vec, [0, 0, 0]) AS v FROM dataset
=> v: np.zeros(3) if r.vec is None else r.vec

-- shapes and axes as tuples
SELECT RESHAPE(grid, (4, 3)) AS a, TRANSPOSE(grid, (1, 0)) AS b FROM dataset
=> a: r.grid.reshape(4, 3)
=> b: r.grid.T

-- division of tensors by zero, and of negatives
SELECT [-7] % 3 AS a, [-7] // 3 AS b, [7] / 0 AS c, [7] // 0 AS d FROM dataset LIMIT 1
=> rows [0]
=> a: np.array([2])
=> b: np.array([-3])
=> c: np.array([np.inf])
=> d: np.array([0])

-- a row for each element
SELECT id, UNNEST(numbers) AS x FROM dataset
=> rows [(s.id, x) for s in rows for x in s.numbers]
=> id: r[0]
=> x: r[1]

-- a row for each box and tag
SELECT UNNEST(boxes) AS b FROM dataset LIMIT 5
=> rows [b for s in rows for b in s.boxes][:5]
=> b: r

-- groups of elements
SELECT w, COUNT(*) AS c FROM (SELECT UNNEST(words) AS w FROM dataset) GROUP BY w ORDER BY w
=> rows ["alpha", "beta", "gamma"]
=> w: r
=> c: sum(r in s.words for s in rows())

-- UNNEST in FROM
SELECT x FROM dataset, UNNEST(numbers) AS u(x)
=> error QueryError: UNNEST of a column must be in the select list

-- an index beyond a row is null
SELECT id, boxes[2] AS a, ragged[2, 0] AS b, numbers[-3] AS c, image[7, 8, 2] AS d, words[1] AS e FROM dataset
=> id: r.id
=> a: r.boxes[2] if len(r.boxes) > 2 else None
=> b: r.ragged[2, 0] if len(r.ragged) > 2 else None
=> c: r.numbers[-3] if len(r.numbers) > 2 else None
=> d: r.image[7, 8, 2] if r.image.ndim == 3 and r.image.shape[0] > 7 else None
=> e: r.words[1] if len(r.words) > 1 else None

-- positions beyond a row, and those of each row
SELECT id, ragged[[0, 2]] AS a, ragged[id % 3, 1] AS b, SUM(ragged[[2], 1]) AS c FROM dataset
=> id: r.id
=> a: r.ragged[[0, 2]] if len(r.ragged) > 2 else None
=> b: r.ragged[r.id % 3, 1] if len(r.ragged) > r.id % 3 else None
=> c: r.ragged[[2], 1].sum() if len(r.ragged) > 2 else None

-- a shape that guards an index
SELECT id FROM dataset WHERE SHAPE(ragged)[0] <= 2 OR ragged[2, 0] > 0
=> where len(r.ragged) <= 2 or r.ragged[2, 0] > 0
=> id: r.id

-- CASE that guards an index
SELECT id, CASE WHEN SHAPE(ragged)[0] > 2 THEN ragged[2, 0] ELSE -1 END AS x FROM dataset
=> id: r.id
=> x: r.ragged[2, 0] if len(r.ragged) > 2 else -1.0

-- the colour of coloured pictures
SELECT id FROM dataset WHERE MEAN(image[:, :, 2]) < 130 AND NDIM(image) = 3
=> where r.image.ndim == 3 and r.image[:, :, 2].mean() < 130
=> id: r.id

-- what is known without reading comes first
SELECT id FROM dataset WHERE SUM(TRANSPOSE(image, [1, 0, 2])[0]) > 0 AND NDIM(image) = 3
=> where r.image.ndim == 3
=> id: r.id

-- masks, and functions of two columns that differ in count
SELECT id, SUM(boxes[boxes[:, 0] > 10]) AS a, IOU(boxes, predicted) AS b, MEAN(AREA(boxes)) - MAX(ragged) AS c, boxes[:, 2] - boxes[:, 0] AS d FROM dataset WHERE id > 3
=> where r.id > 3
=> id: r.id
=> a: r.boxes[r.boxes[:, 0] > 10].sum()
=> b: (lambda n, m: 1.0 if not max(n, m) else min(n, m) / max(n, m))(len(r.boxes), len(r.predicted))
=> c: np.prod(r.boxes[:, 2:] - r.boxes[:, :2], 1).mean() - r.ragged.max() if len(r.boxes) and len(r.ragged) else None
=> d: r.boxes[:, 2] - r.boxes[:, 0]

-- whole numbers of a column stay whole in tensors
SELECT id, RESHAPE(id + 0, [1]) AS a, RESHAPE(id, [1]) AS b, grid * 0 + small AS c FROM dataset
=> id: r.id
=> a: [r.id]
=> b: [r.id]
=> c: np.full((3, 4), r.small)

-- the deviation of tensors is NumPy's, that of scalars SQL's
SELECT label, STD(grid)[0, 0] AS a, STDDEV_POP(id) AS b, STD(id) AS c FROM dataset GROUP BY label ORDER BY label
=> rows CLASSES
=> label: r
=> a: np.std([s.grid for s in rows() if s.label == r], 0)[0, 0]
=> b: np.std([s.id for s in rows() if s.label == r])
=> c: np.std([s.id for s in rows() if s.label == r], ddof=1)

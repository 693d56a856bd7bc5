-- CASE
SELECT id, CASE WHEN id < 10 THEN 'low' WHEN id < 20 THEN 'mid' ELSE 'high' END AS c FROM dataset

-- CASE without ELSE
SELECT id, CASE WHEN flag THEN 1 END AS c FROM dataset

-- CASE of a value
SELECT CASE n WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE 'many' END AS c FROM dataset

-- CASE in WHERE and ORDER BY
SELECT id FROM dataset WHERE CASE WHEN flag THEN id > 30 ELSE id > 50 END ORDER BY CASE WHEN flag THEN -id ELSE id END

-- CASE over tensors' reductions
SELECT id, CASE WHEN MEAN(image) > 128 THEN 'bright' ELSE 'dark' END AS c FROM dataset
=> id: r.id
=> c: 'bright' if r.image.mean() > 128 else 'dark'

-- CASE that gives reductions
SELECT CASE WHEN flag THEN MAX(image) ELSE MIN(image) END AS c FROM dataset
=> c: int(r.image.max() if r.flag else r.image.min())

-- CASE that gives tensors
SELECT CASE WHEN flag THEN grid[0] ELSE grid[1] END AS c FROM dataset
=> c: r.grid[0] if r.flag else r.grid[1]

-- IF
SELECT IF(flag, 1, 2) AS c FROM dataset

-- CAST to whole numbers rounds as DuckDB does
SELECT CAST(score AS INT) AS a, CAST('12' AS INT) AS b, CAST(id AS DOUBLE) / 4 AS c, CAST(flag AS INT) AS d FROM dataset

-- CAST to truth values
SELECT CAST(id AS BOOLEAN) AS a, CAST('true' AS BOOL) AS b FROM dataset

-- TRY_CAST
SELECT TRY_CAST(text AS INT) AS a, TRY_CAST('7' AS INT) AS b FROM dataset

-- CAST to a decimal
SELECT CAST(score AS DECIMAL(8, 1)) AS a FROM dataset WHERE id < 5

-- rounding
SELECT ROUND(score) AS a, ROUND(score, 1) AS b, FLOOR(score) AS c, CEIL(score) AS d, TRUNC(score) AS e, ABS(score - 5) AS f, SIGN(score - 5) AS g FROM dataset

-- roots and logarithms
SELECT SQRT(id) AS a, EXP(id / 10) AS b, LN(id + 1) AS c, LOG2(id + 1) AS d, LOG10(id + 1) AS e FROM dataset

-- LOG is natural
SELECT LOG(id + 1) AS a FROM dataset
=> a: math.log(r.id + 1)

-- LOG of a base
SELECT LOG(2, id + 1) AS a FROM dataset
=> a: math.log2(r.id + 1)

-- LOG is natural for tensors
SELECT LOG(ABS(grid)) AS a FROM dataset
=> a: np.log(np.abs(r.grid))

-- the square root of a negative number is NaN
SELECT SQRT(id - 3) AS a, LN(id - 2) AS b FROM dataset WHERE id < 6
=> where r.id < 6
=> a: np.sqrt(np.float64(r.id - 3))
=> b: np.log(np.float64(r.id - 2))

-- trigonometry
SELECT SIN(id) AS a, COS(id) AS b, TAN(id) AS c, ATAN2(id, 3) AS d, PI() AS e FROM dataset

-- greatest and least
SELECT GREATEST(id, 30, small) AS a, LEAST(id, 30) AS b FROM dataset

-- CLIP of a scalar
SELECT CLIP(id, 10, 20) AS c FROM dataset
=> c: min(max(r.id, 10), 20)

-- bits
SELECT id & 3 AS a, id | 8 AS b, id << 2 AS c, id >> 1 AS d, XOR(id, 5) AS e FROM dataset

-- HASH of equal values is equal
SELECT COUNT(DISTINCT HASH(n)) AS c FROM dataset WHERE n IS NOT NULL
=> rows [0]
=> c: 7

-- HASH of tensors
SELECT COUNT(DISTINCT HASH(numbers)) AS c, COUNT(DISTINCT HASH(image)) AS d FROM dataset
=> rows [0]
=> c: 5
=> d: 60

-- ROW_ID is a key
SELECT COUNT(DISTINCT ROW_ID()) AS c FROM dataset
=> rows [0]
=> c: 60

-- NBYTES
SELECT id, NBYTES(grid) AS a, NBYTES(text) AS b FROM dataset
=> id: r.id
=> a: 48
=> b: len(r.text.encode())

-- RANDOM is between 0 and 1
SELECT COUNT(*) AS c FROM dataset WHERE RANDOM() >= 0 AND RANDOM() < 1
=> rows [0]
=> c: 60

-- RANDOM of a seed varies by row
SELECT COUNT(DISTINCT RANDOM(1)) AS c FROM dataset
=> rows [0]
=> c: 60

-- lists of numbers
SELECT [1, 2, 3] AS a, ARRAY[id, n] AS b FROM dataset WHERE id < 3
=> where r.id < 3
=> a: np.array([1, 2, 3])
=> b: [r.id, r.n]

-- an item of a list counts from 0
SELECT [10, 20, 30][1] AS a, [10, 20, 30][-1] AS b FROM dataset LIMIT 1
=> rows [0]
=> a: 20
=> b: 30

-- an item of a list of scalars counts from 0
SELECT ARRAY[id, small][0] AS a, ARRAY[id, small][-1] AS b FROM dataset
=> a: r.id
=> b: r.small

-- a lambda
SELECT LIST_TRANSFORM([1, 2], x -> x + id) AS a FROM dataset WHERE id < 3
=> where r.id < 3
=> a: [1 + r.id, 2 + r.id]

-- functions of lists
SELECT LIST_CONTAINS([1, 2], id) AS a, LENGTH([1, 2]) AS b, ARRAY_LENGTH([4, 5, 6]) AS c FROM dataset WHERE id < 3

-- parameters in order
SELECT id, ? AS p FROM dataset WHERE id BETWEEN ? AND ?
=> duckdb SELECT id, 'x' AS p FROM dataset WHERE id BETWEEN 3 AND 6
=> params ['x', 3, 6]

-- parameters by name
SELECT id FROM dataset WHERE id > $low AND id < $high AND $low < 20
=> params {'low': 10, 'high': 14}

-- a parameter of null
SELECT id FROM dataset WHERE n IS NOT DISTINCT FROM ?
=> params [None]

-- a parameter of a truth value
SELECT id FROM dataset WHERE flag = ?
=> params [True]

-- a parameter with quotes
SELECT id FROM dataset WHERE text = ?
=> params ["it's 'quoted'"]

-- a parameter in LIMIT and OFFSET
SELECT id FROM dataset ORDER BY id LIMIT ? OFFSET ?
=> params [3, 4]

-- a parameter of a vector
SELECT id, L2_DISTANCE(emb, ?) AS d FROM dataset ORDER BY d LIMIT 5
=> params [np.array([0.5, 0, 0, 1], 'float32')]
=> rows sorted(rows, key=lambda r: np.linalg.norm(r.emb - [0.5, 0, 0, 1]))[:5]
=> id: r.id
=> d: np.linalg.norm(r.emb - [0.5, 0, 0, 1])

-- a parameter of a vector by name
SELECT id, DOT(emb, $v) AS d FROM dataset
=> params {'v': [1, 2, 3, 4]}
=> id: r.id
=> d: r.emb @ [1, 2, 3, 4]

-- a parameter of boxes
SELECT id, IOU(boxes, $b) AS i FROM dataset
=> params {'b': np.array([[0, 0, 30, 30], [10, 10, 60, 60]], 'float32')}
=> id: r.id
=> i: iou(r.boxes, [[0, 0, 30, 30], [10, 10, 60, 60]])

-- a parameter of a moment
SELECT id FROM dataset WHERE time < $t
=> params {'t': datetime(2024, 2, 1)}

-- a parameter of a number of NumPy's
SELECT id FROM dataset WHERE id = ?
=> params [np.int64(4)]
=> duckdb SELECT id FROM dataset WHERE id = 4

-- a parameter that is a list in IN
SELECT id FROM dataset WHERE id IN ?
=> params [[3, 5, 7]]
=> duckdb SELECT id FROM dataset WHERE id IN (3, 5, 7)

-- COALESCE, NULLIF, IFNULL
SELECT COALESCE(n, score, 0) AS a, NULLIF(id, 3) AS b, IFNULL(note, 'none') AS c FROM dataset

-- null in texts and CASE
SELECT note || 'x' AS a, CASE WHEN n IS NULL THEN 'null' ELSE 'set' END AS b, CASE n WHEN 3 THEN 1 END AS c FROM dataset

-- negative numbers divided
SELECT -7 % 3 AS a, -7 // 3 AS b, -7 / 2 AS c, (id - 7) % 3 AS d, (id - 7) // 3 AS e FROM dataset

-- masks of whole numbers
SELECT id & 3 AS a, id | 8 AS b, ~id AS c FROM dataset

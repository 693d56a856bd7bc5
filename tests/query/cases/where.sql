-- integers compare
SELECT id FROM dataset WHERE id > 50

-- each comparison
SELECT id, id = 3 AS a, id <> 3 AS b, id < 3 AS c, id <= 3 AS d, id > 3 AS e, id >= 3 AS f, id != 3 AS g, id == 3 AS h FROM dataset WHERE id < 6

-- and, or, not
SELECT id FROM dataset WHERE (id < 5 OR id > 55) AND NOT flag

-- a truth value is a condition
SELECT id FROM dataset WHERE flag

-- between
SELECT id FROM dataset WHERE id BETWEEN 10 AND 20 AND score BETWEEN 1 AND 10

-- not between
SELECT id FROM dataset WHERE id NOT BETWEEN 10 AND 58

-- in a list
SELECT id FROM dataset WHERE id IN (1, 2, 3, 99)

-- not in a list
SELECT id FROM dataset WHERE n NOT IN (1, 2, 3)

-- texts in a list
SELECT id FROM dataset WHERE text IN ('fox', '', '日本語')

-- null is not equal to null
SELECT id FROM dataset WHERE n = NULL OR n <> NULL

-- is null
SELECT id FROM dataset WHERE n IS NULL

-- is not null
SELECT id FROM dataset WHERE n IS NOT NULL AND note IS NOT NULL

-- distinct from null
SELECT id FROM dataset WHERE n IS DISTINCT FROM 3

-- not distinct from null
SELECT id FROM dataset WHERE n IS NOT DISTINCT FROM NULL

-- null in arithmetic is null
SELECT n + 1 AS a, n * 0 AS b, n IS NULL AS c, COALESCE(n, -1) AS d, IFNULL(n, 9) AS e, NULLIF(n, 3) AS f FROM dataset

-- null in logic has three values
SELECT id, n > 3 AND flag AS a, n > 3 OR flag AS b, NOT n > 3 AS c FROM dataset

-- is true
SELECT id FROM dataset WHERE (n > 3) IS TRUE

-- NaN is in no comparison
SELECT id FROM dataset WHERE value = value
=> where r.value == r.value
=> id: r.id

-- NaN is not greater than a number
SELECT id FROM dataset WHERE value > 1
=> where r.value > 1
=> id: r.id

-- NaN is not less than a number
SELECT id FROM dataset WHERE value <= 1
=> where r.value <= 1
=> id: r.id

-- NaN between
SELECT id FROM dataset WHERE value BETWEEN -1 AND 1000
=> where -1 <= r.value <= 1000
=> id: r.id

-- NaN differs from everything
SELECT id FROM dataset WHERE value <> 1
=> where r.value != 1
=> id: r.id

-- NaN is asked for by name
SELECT id FROM dataset WHERE ISNAN(value)
=> where r.value != r.value
=> id: r.id

-- NaN in IN
SELECT id FROM dataset WHERE value IN (value, 1)
=> where r.value == r.value
=> id: r.id

-- NaN in CASE
SELECT id, CASE WHEN value > 0 THEN 'up' WHEN value <= 0 THEN 'down' ELSE 'none' END AS c FROM dataset
=> id: r.id
=> c: 'up' if r.value > 0 else 'down' if r.value <= 0 else 'none'

-- infinity compares
SELECT id FROM dataset WHERE value > 1000 OR value < -1000
=> where np.isinf(r.value)
=> id: r.id

-- ISINF and ISFINITE
SELECT id, ISINF(value) AS a, ISFINITE(value) AS b FROM dataset
=> id: r.id
=> a: bool(np.isinf(r.value))
=> b: bool(np.isfinite(r.value))

-- division by zero
SELECT id, score / (id - 3) AS a, id / 0 AS b FROM dataset WHERE id < 6
=> where r.id < 6
=> id: r.id
=> a: None if r.score is None else np.float64(r.score) / (r.id - 3)
=> b: np.float64(r.id) / 0

-- remainder by zero
SELECT id % 0 AS a, id // 0 AS b FROM dataset WHERE id < 2
=> where r.id < 2
=> a: None
=> b: None

-- a NaN that is computed
SELECT id FROM dataset WHERE SQRT(value) > 0
=> where r.value > 0
=> id: r.id

-- a column beats an alias of its name
SELECT id, -id AS id FROM dataset WHERE id > 57
=> where r.id > 57
=> id: r.id
=> id_1: -r.id

-- an alias in WHERE
SELECT id, id * 2 AS twice FROM dataset WHERE twice > 110

-- an alias of an alias
SELECT id, id * 2 AS twice, twice + 1 AS more FROM dataset WHERE more > 115

-- an alias of a tensor expression in WHERE
SELECT id, MEAN(image) AS m FROM dataset WHERE m > 128 ORDER BY m
=> where r.image.mean() > 128
=> order r.image.mean()
=> id: r.id
=> m: r.image.mean()

-- an unsigned integer compares with a negative one
SELECT id FROM dataset WHERE small > -1 AND small - 251 < 0

-- a condition on a constant
SELECT id FROM dataset WHERE 1 = 1 AND 2 > 1 LIMIT 3

-- a condition that never holds
SELECT id FROM dataset WHERE 1 = 0

-- texts compare
SELECT id, text FROM dataset WHERE text > 'b'

-- moments compare with a text
SELECT id FROM dataset WHERE time >= '2024-06-01' AND time < '2024-09-01'

-- cheap and dear conditions together
SELECT id FROM dataset WHERE MEAN(image) > 120 AND id > 30 AND ANY(boxes > 60)
=> where r.image.mean() > 120 and r.id > 30 and (r.boxes > 60).any()
=> id: r.id

-- a dear condition or a cheap one
SELECT id FROM dataset WHERE MEAN(image) > 130 OR id < 5
=> where r.image.mean() > 130 or r.id < 5
=> id: r.id

-- a dear condition and a limit
SELECT id FROM dataset WHERE MAX(grid) > 1 LIMIT 3
=> rows [r for r in rows if r.grid.max() > 1][:3]
=> id: r.id

-- NOT of a dear condition
SELECT id FROM dataset WHERE NOT MAX(grid) > 1.5
=> where not r.grid.max() > 1.5
=> id: r.id

-- a list as one parameter
SELECT id FROM dataset WHERE id IN ?
=> params [[3, 5, 99]]
=> where r.id in (3, 5)
=> id: r.id

-- an array as one parameter, in parentheses
SELECT id FROM dataset WHERE id IN (?)
=> params [np.array([3, 5])]
=> where r.id in (3, 5)
=> id: r.id

-- names of classes as one parameter
SELECT id FROM dataset WHERE label IN $names
=> params {"names": np.array(["cat", "bird"])}
=> where r.label in ("cat", "bird")
=> id: r.id

-- pairs in a list of pairs
SELECT id FROM dataset WHERE (id, n) IN ((1, 1), (2, 3), (9, 2))

-- IN of a tensor points at CONTAINS
SELECT id FROM dataset WHERE 'sky' IN tags
=> error QueryTypeError: CONTAINS(tags, 'sky')

-- && points at AND
SELECT id FROM dataset WHERE flag && id > 3
=> error QueryTypeError: Conditions must be connected with AND

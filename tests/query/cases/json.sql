-- a key
SELECT id, meta['a'] AS a FROM dataset
=> id: r.id
=> a: r.id % 5

-- keys and places
SELECT meta['b']['c'][0] AS a, meta['b']['c'][1] AS b, meta['b']['c'][-1]['d'] AS c FROM dataset
=> a: r.id
=> b: r.id + 1
=> c: f'deep {r.id % 3}'

-- a key that is not there
SELECT meta['nothing'] AS a, meta['b']['x']['y'] AS b FROM dataset
=> a: None
=> b: None

-- a number in JSON compares
SELECT id FROM dataset WHERE meta['a'] > 2
=> where r.meta['a'] > 2
=> id: r.id

-- a number deep in JSON compares
SELECT id FROM dataset WHERE meta['b']['c'][0] = 17
=> where r.id == 17
=> id: r.id

-- a text in JSON compares
SELECT id FROM dataset WHERE meta['name'] = 'cam1'
=> where r.id % 2
=> id: r.id

-- a truth value in JSON compares
SELECT id FROM dataset WHERE meta['ok'] = TRUE AND id < 10
=> where r.id % 2 == 0 and r.id < 10
=> id: r.id

-- a truth value in JSON is a condition
SELECT id FROM dataset WHERE meta['ok'] AND id < 10
=> where r.id % 2 == 0 and r.id < 10
=> id: r.id

-- a text in JSON is LIKE
SELECT id FROM dataset WHERE meta['b']['c'][2]['d'] LIKE '%2'
=> where r.id % 3 == 2
=> id: r.id

-- a text in JSON in a list
SELECT id FROM dataset WHERE meta['name'] IN ('cam0', 'cam9')
=> where r.id % 2 == 0
=> id: r.id

-- numbers in JSON in a list
SELECT id FROM dataset WHERE meta['a'] IN (1, 2)
=> where r.id % 5 in (1, 2)
=> id: r.id

-- JSON by a point
SELECT meta.a AS a FROM dataset
=> a: r.id % 5

-- JSON sorts as a number
SELECT id FROM dataset ORDER BY CAST(meta['b']['c'][0] AS INT) DESC LIMIT 3
=> rows rows[:56:-1]
=> id: r.id

-- JSON cast
SELECT CAST(meta['a'] AS INT) + 1 AS a, CAST(meta['name'] AS TEXT) AS b FROM dataset
=> a: r.id % 5 + 1
=> b: f'cam{r.id % 2}'

-- JSON in arithmetic
SELECT meta['a'] * 2 AS a FROM dataset
=> a: r.id % 5 * 2

-- JSON in text functions
SELECT UPPER(meta['name']) AS a, meta['name'] || '!' AS b FROM dataset
=> a: f'CAM{r.id % 2}'
=> b: f'cam{r.id % 2}!'

-- keys of JSON
SELECT KEYS(meta) AS k FROM dataset WHERE id < 3
=> where r.id < 3
=> k: ['a', 'b', 'ok', 'name', 'none']

-- JSON contains a key
SELECT id FROM dataset WHERE CONTAINS(meta, 'b') AND NOT CONTAINS(meta, 'z') AND id < 4
=> where r.id < 4
=> id: r.id

-- JSON null and no JSON
SELECT id FROM dataset WHERE extra IS NULL
=> where r.id % 5 == 0
=> id: r.id

-- a null in JSON is null
SELECT id FROM dataset WHERE meta['none'] IS NULL AND id < 4
=> where r.id < 4
=> id: r.id

-- places of a JSON list
SELECT id, extra[0] AS a, extra[1] AS b FROM dataset WHERE id % 2 = 1 AND id % 5 <> 0
=> where r.id % 2 and r.id % 5
=> id: r.id
=> a: r.id
=> b: str(r.id)

-- a key with a quote
SELECT id FROM dataset WHERE extra['k''q'] = 8
=> where r.id == 8
=> id: r.id

-- JSON groups
SELECT meta['a'] AS a, COUNT(*) AS c FROM dataset GROUP BY meta['a'] ORDER BY CAST(meta['a'] AS INT)
=> rows range(5)
=> a: r
=> c: 12

-- aggregates of JSON
SELECT SUM(CAST(meta['a'] AS INT)) AS s, MAX(CAST(meta['b']['c'][0] AS INT)) AS m FROM dataset
=> rows [0]
=> s: 120
=> m: 59

-- a whole JSON value
SELECT id, extra FROM dataset WHERE id < 6
=> where r.id < 6
=> id: r.id
=> extra: r.extra

-- a key by a column
SELECT meta['b']['c'][n % 2] AS a FROM dataset WHERE n IS NOT NULL
=> where r.n is not None
=> a: r.id + r.n % 2

-- DuckDB's own JSON functions
SELECT JSON_ARRAY_LENGTH(meta['b']['c']) AS a, JSON_TYPE(meta['a']) AS b FROM dataset WHERE id < 2
=> where r.id < 2
=> a: 3
=> b: 'UBIGINT'

-- keys behind dots
SELECT meta.b.c[1] AS a, meta.b.c[2].d AS b, dataset.meta.name AS c FROM dataset
=> a: r.meta["b"]["c"][1]
=> b: r.meta["b"]["c"][2]["d"]
=> c: r.meta["name"]

-- sums of JSON numbers
SELECT label, SUM(meta['b']['c'][0]) AS s, AVG(meta.a) AS a FROM dataset GROUP BY label ORDER BY label
=> rows CLASSES
=> label: r
=> s: float(sum(s.id for s in rows() if s.label == r))
=> a: float(np.mean([s.meta["a"] for s in rows() if s.label == r]))

-- JSON numbers sort by size
SELECT id FROM dataset ORDER BY meta['b']['c'][0] DESC LIMIT 12
=> rows rows[::-1][:12]
=> id: r.id

-- JSON texts sort as texts
SELECT id FROM dataset ORDER BY meta.name DESC, id
=> order (r.meta["name"] == "cam0", r.id)
=> id: r.id

-- the greatest JSON number
SELECT MAX(meta['b']['c'][0]) AS m, MIN(meta.b.c[1]) AS l, ARG_MAX(id, meta['b']['c'][0]) AS a FROM dataset
=> rows [0]
=> m: 59
=> l: 1
=> a: 59

-- JSON numbers compare with each other by size
SELECT id FROM dataset WHERE meta['b']['c'][0] <= meta['b']['c'][1] AND meta['b']['c'][1] > meta['a']
=> where True
=> id: r.id

-- JSON numbers compare by size in joins
SELECT a.id AS a, b.id AS b FROM dataset a JOIN dataset b ON a.meta.b.c[0] < b.meta.b.c[0] WHERE b.id = 10
=> where r.id < 10
=> a: r.id
=> b: 10

-- JSON numbers rank by size
SELECT id, RANK() OVER (ORDER BY meta['b']['c'][0] DESC) AS k, MAX(meta.b.c[0]) OVER () AS m FROM dataset ORDER BY id
=> id: r.id
=> k: 60 - r.id
=> m: 59

-- the middle of JSON numbers
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY meta['b']['c'][0]) AS p, MEDIAN(meta.b.c[0]) AS m FROM dataset
=> rows [0]
=> p: 29.5
=> m: 29.5

-- The arguments of GREATEST must have the same type
SELECT GREATEST(meta.a, 3) AS g FROM dataset
=> error QueryTypeError: The arguments of GREATEST must have the same type | CAST(meta.a AS DOUBLE)

-- slices of JSON lists and texts
SELECT id, meta['b']['c'][0:2] AS a, meta.b.c[1:][0] AS b, meta['name'][:3] AS c FROM dataset
=> id: r.id
=> a: r.meta["b"]["c"][:2]
=> b: r.meta["b"]["c"][1]
=> c: "cam"

-- how many items JSON has
SELECT id, LEN(meta.b.c) AS a, SIZE(meta.b.c) AS b, LENGTH(meta.name) AS c FROM dataset
=> id: r.id
=> a: 3
=> b: 3
=> c: 4

-- what JSON contains: items, keys, parts of a text
SELECT id, CONTAINS(meta.b.c, 4) AS a, CONTAINS(meta, 'name') AS b, CONTAINS(meta, 'cam0') AS c, CONTAINS(meta.name, 'am0') AS d FROM dataset
=> id: r.id
=> a: 4 in r.meta["b"]["c"]
=> b: True
=> c: False
=> d: "am0" in r.meta["name"]

-- what has no keys
SELECT id['a'] AS a FROM dataset
=> error QueryTypeError: Only JSON values, structs and maps have keys, but id['a'] takes a key of a number

-- a class has no keys
SELECT label.name FROM dataset
=> error QueryTypeError: of a class

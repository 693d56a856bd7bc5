-- count of all rows
SELECT COUNT(*) AS c FROM dataset

-- count of values leaves null out
SELECT COUNT(n) AS a, COUNT(note) AS b, COUNT(DISTINCT n) AS c FROM dataset

-- aggregates of a column
SELECT SUM(id) AS s, AVG(id) AS m, MIN(id) AS a, MAX(id) AS b, MEDIAN(id) AS d FROM dataset

-- MEAN, STD and VAR are AVG, STDDEV and VARIANCE
SELECT MEAN(score) AS m, STD(score) AS s, VAR(score) AS v FROM dataset
=> duckdb SELECT AVG(score) AS m, STDDEV(score) AS s, VARIANCE(score) AS v FROM dataset

-- a sum of small integers does not wrap
SELECT SUM(small) AS s FROM dataset

-- an item and a part of a list of an aggregate
SELECT LIST(id ORDER BY id)[1] AS a, LIST(id ORDER BY id)[:2] AS b, LIST(id ORDER BY id)[-1] AS c
=> duckdb SELECT 1 AS a, [0, 1] AS b, 59 AS c

-- groups by a class
SELECT label, COUNT(*) AS c, AVG(score) AS m FROM dataset GROUP BY label

-- groups by two columns
SELECT label, flag, COUNT(*) AS c FROM dataset GROUP BY label, flag

-- groups by an expression
SELECT id % 5 AS r, COUNT(*) AS c FROM dataset GROUP BY id % 5 ORDER BY r

-- groups by an alias
SELECT id % 5 AS r, SUM(id) AS s FROM dataset GROUP BY r ORDER BY r

-- groups by a position
SELECT flag, COUNT(*) AS c FROM dataset GROUP BY 1 ORDER BY 1

-- groups by all
SELECT flag, label, MAX(id) AS m FROM dataset GROUP BY ALL

-- null is a group
SELECT n, COUNT(*) AS c FROM dataset GROUP BY n ORDER BY n

-- having
SELECT label, COUNT(*) AS c FROM dataset GROUP BY label HAVING COUNT(*) > 20

-- having by an alias
SELECT n, COUNT(*) AS c FROM dataset GROUP BY n HAVING c > 8 ORDER BY n

-- having without a group
SELECT COUNT(*) AS c FROM dataset HAVING COUNT(*) > 100

-- order by an aggregate
SELECT n FROM dataset GROUP BY n ORDER BY COUNT(*) DESC, n LIMIT 3

-- an aggregate in arithmetic
SELECT MAX(id) - MIN(id) + 1 AS span, SUM(id) / COUNT(*) AS m FROM dataset

-- an aggregate of an expression
SELECT flag, SUM(id * 2 + 1) AS s FROM dataset GROUP BY flag

-- quantiles
SELECT QUANTILE_CONT(score, 0.25) AS q, QUANTILE_DISC(id, 0.9) AS d, QUANTILE(id, 0.5) AS e FROM dataset

-- first and last
SELECT flag, FIRST(id ORDER BY id) AS a, LAST(id ORDER BY id) AS b FROM dataset GROUP BY flag

-- lists
SELECT flag, LIST(id ORDER BY id DESC) AS l FROM dataset WHERE id < 8 GROUP BY flag ORDER BY flag
=> rows [False, True]
=> flag: r
=> l: [i for i in range(7, -1, -1) if (i % 3 == 0) == r]

-- a plain column is the list of the group's values
SELECT flag, id FROM dataset WHERE id < 8 GROUP BY flag ORDER BY flag
=> rows [False, True]
=> flag: r
=> id: [i for i in range(8) if (i % 3 == 0) == r]

-- a plain class is the list of the group's classes
SELECT flag, label FROM dataset WHERE id < 8 GROUP BY flag ORDER BY flag
=> rows [[r for r in rows if r.id < 8 and r.flag == f] for f in (False, True)]
=> flag: r[0].flag
=> label: [x.label for x in r]

-- a plain tensor is the stack of the group's tensors
SELECT flag, grid FROM dataset WHERE id < 8 GROUP BY flag ORDER BY flag
=> rows [[r for r in rows if r.id < 8 and r.flag == f] for f in (False, True)]
=> flag: r[0].flag
=> grid: np.stack([x.grid for x in r])

-- FILTER
SELECT label, COUNT(*) FILTER (WHERE flag) AS c, SUM(id) FILTER (WHERE id > 30) AS s FROM dataset GROUP BY label

-- conditional counts
SELECT COUNT_IF(flag) AS a, SUM(CASE WHEN flag THEN 1 ELSE 0 END) AS b, BOOL_OR(flag) AS c, BOOL_AND(flag) AS d FROM dataset

-- the row of an extreme
SELECT label, ARG_MAX(id, score) AS a, MIN_BY(text, id) AS b FROM dataset GROUP BY label

-- mode and any value
SELECT MODE(n) AS m, ANY_VALUE(flag) IS NULL AS a FROM dataset

-- correlation
SELECT CORR(id, score) AS c, COVAR_POP(id, score) AS v, STDDEV_POP(id) AS s, VAR_POP(id) AS w FROM dataset

-- an aggregate over no rows
SELECT COUNT(*) AS c, SUM(id) AS s, MIN(text) AS m FROM dataset WHERE id > 100

-- groups of no rows
SELECT label, COUNT(*) AS c FROM dataset WHERE id > 100 GROUP BY label
=> rows []
=> label: r
=> c: r

-- the mean of tensors over a group goes element by element
SELECT label, MEAN(grid) AS m FROM dataset GROUP BY label ORDER BY label
=> rows CLASSES
=> label: r
=> m: np.mean([x.grid for x in rows() if x.label == r], 0)

-- other elementwise aggregates
SELECT flag, SUM(bytes) AS s, MIN(grid) AS a, MAX(grid) AS b, STD(grid) AS d FROM dataset GROUP BY flag ORDER BY flag
=> rows [[x.__dict__ for x in rows if x.flag == f] for f in (False, True)]
=> flag: r[0]['flag']
=> s: np.sum([x['bytes'].astype(int) for x in r], 0)
=> a: np.min([x['grid'] for x in r], 0)
=> b: np.max([x['grid'] for x in r], 0)
=> d: np.std([x['grid'] for x in r], 0, ddof=0)

-- an elementwise aggregate leaves null out
SELECT flag, SUM(vec) AS s FROM dataset GROUP BY flag ORDER BY flag
=> rows [[x.vec for x in rows if x.flag == f and x.vec is not None] for f in (False, True)]
=> flag: r[0][0] % 3 == 0
=> s: np.sum(r, 0)

-- an elementwise aggregate of an expression
SELECT flag, MEAN(grid[0] * 2) AS m FROM dataset GROUP BY flag ORDER BY flag
=> rows [[x.grid for x in rows if x.flag == f] for f in (False, True)]
=> flag: len(r) == 20
=> m: np.mean([g[0] * 2 for g in r], 0)

-- an elementwise aggregate is indexed
SELECT flag, MEAN(grid)[1, 2] AS m FROM dataset GROUP BY flag ORDER BY flag
=> rows [[x.grid for x in rows if x.flag == f] for f in (False, True)]
=> flag: len(r) == 20
=> m: np.mean(r, 0)[1, 2]

-- a reduction of a tensor within an aggregate
SELECT label, AVG(AMEAN(image)) AS m, MAX(AMAX(grid)) AS x FROM dataset GROUP BY label ORDER BY label
=> rows [[x for x in rows if x.label == c] for c in CLASSES]
=> label: r[0].label
=> m: np.mean([x.image.mean() for x in r])
=> x: max(x.grid.max() for x in r)

-- the reductions of a row stay so in a group
SELECT AMEAN(grid) > 0 AS g, COUNT(*) AS c FROM dataset GROUP BY AMEAN(grid) > 0 ORDER BY g
=> rows [[x for x in rows if (x.grid.mean() > 0) == g] for g in (False, True)]
=> g: r[0].grid.mean() > 0
=> c: len(r)

-- groups by a shape
SELECT NDIM(image) AS d, COUNT(*) AS c FROM dataset GROUP BY NDIM(image) ORDER BY d
=> rows [2, 3]
=> d: r
=> c: sum(x.image.ndim == r for x in rows())

-- groups by a tensor
SELECT numbers, COUNT(*) AS c FROM dataset GROUP BY numbers ORDER BY SIZE(FIRST(numbers))
=> rows range(5)
=> numbers: list(range(r))
=> c: 12

-- groups by an element of a tensor
SELECT mask[0, 0] AS m, COUNT(*) AS c FROM dataset GROUP BY mask[0, 0] ORDER BY m
=> rows range(3)
=> m: ['road', 'sky', 'car'][r]
=> c: sum(x.mask[0, 0] == r for x in rows())

-- groups by a value in JSON
SELECT meta['name'] AS cam, SUM(id) AS s FROM dataset GROUP BY meta['name'] ORDER BY s
=> rows [0, 1]
=> cam: f'cam{r}'
=> s: sum(i for i in range(60) if i % 2 == r)

-- counts of tensors
SELECT COUNT(vec) AS a, COUNT(image) AS b FROM dataset
=> rows [0]
=> a: sum(x.vec is not None for x in rows())
=> b: 60

-- without groups a reduction of a tensor is per row
SELECT id, SUM(grid) AS s, MAX(image) AS m FROM dataset
=> id: r.id
=> s: r.grid.sum()
=> m: r.image.max()

-- aggregates of a reduction without groups
SELECT SUM(AMAX(image)) AS s, COUNT(*) AS c FROM dataset
=> rows [0]
=> s: sum(int(x.image.max()) for x in rows())
=> c: 60

-- NaN in aggregates
SELECT SUM(value) AS s, COUNT(value) AS c FROM dataset WHERE id < 6
=> rows [0]
=> s: nan
=> c: 6

-- the greatest leaves NaN behind, as DuckDB sorts it
SELECT MAX(value) AS a, MIN(value) AS b FROM dataset WHERE id < 5

-- a group's first image
SELECT label, FIRST(image) AS i FROM dataset GROUP BY label ORDER BY label
=> rows [next(x for x in rows if x.label == c) for c in CLASSES]
=> label: r.label
=> i: r.image

-- approximate counts
SELECT APPROX_COUNT_DISTINCT(flag) AS a FROM dataset

-- groups by what a tensor gives, under an alias
SELECT CASE WHEN MEAN(image) > 128 THEN 'bright' ELSE 'dark' END AS k, COUNT(*) AS c FROM dataset GROUP BY k ORDER BY k
=> rows ["bright", "dark"]
=> k: r
=> c: sum(("bright" if s.image.mean() > 128 else "dark") == r for s in rows())

-- groups by what a tensor gives, by its place, used again
SELECT MEAN(emb) > 0 AS k, CASE WHEN k THEN 'y' ELSE 'n' END AS t, COUNT(*) AS c FROM dataset GROUP BY 1 HAVING NOT k
=> rows [False]
=> k: r
=> t: "n"
=> c: sum(not s.emb.mean() > 0 for s in rows())

-- groups by a tensor's elements rounded
SELECT ROUND(MEAN(emb)) AS k, COUNT(*) AS c FROM dataset GROUP BY ROUND(MEAN(emb)) ORDER BY k
=> rows sorted({float(np.round(s.emb.mean())) for s in rows})
=> k: r
=> c: sum(float(np.round(s.emb.mean())) == r for s in rows())

-- groups by a part of a tensor, with an aggregate of it
SELECT SHAPE(image)[0] AS h, MAX(SHAPE(image)[0]) AS m, h + 1 AS n FROM dataset GROUP BY h ORDER BY h DESC
=> rows sorted({len(s.image) for s in rows}, reverse=True)
=> h: r
=> m: r
=> n: r + 1

-- a condition on a tensor is per row where there are groups
SELECT label, COUNT(*) AS c FROM dataset WHERE MEAN(image) > 128 GROUP BY label ORDER BY label
=> rows CLASSES
=> label: r
=> c: sum(s.label == r and s.image.mean() > 128 for s in rows())

-- within an aggregate a reduction is per row
SELECT label, AVG(MEAN(image)) AS m FROM dataset GROUP BY label ORDER BY label
=> rows CLASSES
=> label: r
=> m: float(np.mean([s.image.mean() for s in rows() if s.label == r]))

-- one group of all rows
SELECT MEAN(grid) AS m FROM dataset GROUP BY ALL
=> rows [0]
=> m: np.mean([s.grid for s in rows()], axis=0)

-- HAVING knows the names of the select list before columns
SELECT label, COUNT(*) AS n FROM dataset GROUP BY label HAVING n > 20
=> duckdb SELECT label, COUNT(*) AS n FROM dataset GROUP BY label HAVING COUNT(*) > 20

-- percentiles within a group
SELECT size, PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY score DESC) AS a, PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY score) AS b FROM dataset GROUP BY size ORDER BY a

-- MODE within a group
SELECT MODE() WITHIN GROUP (ORDER BY n DESC) AS m FROM dataset

-- several percentiles, of some rows
SELECT PERCENTILE_CONT([0.25, 0.75]) WITHIN GROUP (ORDER BY score) FILTER (WHERE flag) AS p FROM dataset
=> rows [0]
=> p: list(np.percentile([s.score for s in rows() if s.flag and s.score is not None], [25, 75]))

-- a percentile of what tensors give
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY L2_NORM(emb)) AS p FROM dataset
=> rows [0]
=> p: float(np.median([np.linalg.norm(s.emb) for s in rows()]))

-- the first tensor of a group, by another column
SELECT label, FIRST(image ORDER BY id DESC) AS i, LAST(emb ORDER BY id DESC) AS e FROM dataset GROUP BY label ORDER BY label
=> rows CLASSES
=> label: r
=> i: [s for s in rows() if s.label == r][-1].image
=> e: [s for s in rows() if s.label == r][0].emb

-- tensors of a group in an order
SELECT label, LIST(emb ORDER BY id DESC) AS e FROM dataset GROUP BY label ORDER BY label
=> rows CLASSES
=> label: r
=> e: [s.emb for s in rows() if s.label == r][::-1]

-- the tensor of the greatest score
SELECT label, ARG_MAX(emb, id) AS a, MIN_BY(boxes, id) AS b FROM dataset GROUP BY label ORDER BY label
=> rows CLASSES
=> label: r
=> a: [s for s in rows() if s.label == r][-1].emb
=> b: [s for s in rows() if s.label == r][0].boxes

-- two aggregates of one tensor in one expression
SELECT label, FIRST(emb) - LAST(emb) AS d, MEAN(grid) FILTER (WHERE flag) - MEAN(grid) FILTER (WHERE NOT flag) AS e FROM dataset GROUP BY label ORDER BY label
=> rows CLASSES
=> label: r
=> d: [s for s in rows() if s.label == r][0].emb - [s for s in rows() if s.label == r][-1].emb
=> e: np.mean([s.grid for s in rows() if s.label == r and s.flag], 0) - np.mean([s.grid for s in rows() if s.label == r and not s.flag], 0)

-- pictures of unequal shape have no mean
SELECT label, MEAN(image) AS m FROM dataset GROUP BY label
=> error QueryError: MEAN over a group needs tensors of equal shape, but the shapes of image (Image('png')) include (6, 9) and (7, 9) and (8, 9) | CROP or RESIZE

-- an element of a list of a group
SELECT label, LIST(id ORDER BY id DESC)[0] AS m FROM dataset GROUP BY label ORDER BY label
=> rows CLASSES
=> label: r
=> m: max(s.id for s in rows() if s.label == r)

-- LIST of classes keeps their names
SELECT flag, LIST(label ORDER BY id) AS l FROM dataset GROUP BY flag ORDER BY flag
=> rows [False, True]
=> flag: r
=> l: [s.label for s in rows() if s.flag == r]

-- a query in FROM
SELECT twice FROM (SELECT id * 2 AS twice FROM dataset WHERE id < 5) AS q WHERE twice > 4

-- a query in FROM without a name
SELECT COUNT(*) AS c FROM (SELECT id FROM dataset WHERE flag)

-- nested three deep
SELECT c FROM (SELECT b + 1 AS c FROM (SELECT a + 1 AS b FROM (SELECT id AS a FROM dataset) AS x) AS y) AS z

-- a scalar subquery
SELECT id FROM dataset WHERE score > (SELECT AVG(score) FROM dataset)

-- a scalar subquery in the list
SELECT id, id - (SELECT MAX(id) FROM dataset) AS d FROM dataset

-- a scalar subquery of no rows is null
SELECT id, (SELECT id FROM owners WHERE id = 1000) AS x FROM dataset WHERE id < 2

-- IN a subquery
SELECT id FROM dataset WHERE id IN (SELECT id FROM owners WHERE age < 50)

-- IN a subquery on the dataset itself
SELECT id FROM dataset WHERE id IN (SELECT id WHERE id < 5)
=> duckdb SELECT id FROM dataset WHERE id < 5

-- NOT IN a subquery
SELECT id FROM dataset WHERE id NOT IN (SELECT id FROM owners)

-- NOT IN a subquery with null is null
SELECT id FROM dataset WHERE id NOT IN (SELECT n FROM dataset)

-- EXISTS
SELECT o.name FROM owners AS o WHERE EXISTS (SELECT 1 FROM dataset AS d WHERE d.id = o.id)

-- NOT EXISTS
SELECT o.name FROM owners AS o WHERE NOT EXISTS (SELECT 1 FROM dataset AS d WHERE d.id = o.id)

-- a correlated scalar subquery
SELECT d.id, (SELECT o.name FROM owners AS o WHERE o.id = d.id) AS owner FROM dataset AS d

-- a correlated aggregate
SELECT a.id FROM dataset AS a WHERE a.id = (SELECT MAX(b.id) FROM dataset AS b WHERE b.label = a.label)

-- compared with any and all
SELECT id FROM dataset WHERE id > ALL (SELECT id * 10 FROM owners WHERE id < 5) AND id < ANY (SELECT age FROM owners)

-- a subquery of tensors in WHERE
SELECT id FROM dataset WHERE MEAN(image) > (SELECT AVG(AMEAN(image)) FROM dataset)
=> where r.image.mean() > np.mean([x.image.mean() for x in rows()])
=> id: r.id

-- a query in FROM brings its tensors
SELECT q.image FROM (SELECT image, id FROM dataset WHERE flag) AS q WHERE q.id > 50
=> where r.flag and r.id > 50
=> image: r.image

-- a query in FROM brings computed tensors
SELECT MEAN(q.part) AS m FROM (SELECT image[:4, :4] AS part FROM dataset) AS q
=> m: r.image[:4, :4].mean()

-- WITH
WITH q AS (SELECT id, n FROM dataset WHERE n > 3) SELECT COUNT(*) AS c, MAX(id) AS m FROM q

-- WITH twice, the second uses the first
WITH a AS (SELECT id, label FROM dataset WHERE flag), b AS (SELECT label, COUNT(*) AS c FROM a GROUP BY label) SELECT b.label, b.c FROM b WHERE c > 1

-- WITH used twice
WITH q AS (SELECT id FROM dataset WHERE id < 5) SELECT x.id AS a, y.id AS b FROM q AS x JOIN q AS y ON x.id < y.id

-- WITH and names of columns
WITH q (a, b) AS (SELECT id, n FROM dataset) SELECT a, b FROM q WHERE b = 3

-- WITH hides a source's name
WITH owners AS (SELECT id FROM dataset WHERE id < 3) SELECT COUNT(*) AS c FROM owners

-- WITH within a subquery
SELECT id FROM dataset WHERE id IN (WITH q AS (SELECT id FROM owners) SELECT id FROM q)

-- WITH brings tensors
WITH q AS (SELECT id, image FROM dataset WHERE MEAN(image) > 128) SELECT id, SHAPE(image)[0] AS h FROM q ORDER BY id
=> where r.image.mean() > 128
=> id: r.id
=> h: r.image.shape[0]

-- an aggregate of an aggregate
SELECT MAX(c) AS m FROM (SELECT n, COUNT(*) AS c FROM dataset GROUP BY n) AS q

-- a list of a group is read again
SELECT flag, LENGTH(ids) AS c FROM (SELECT flag, LIST(id) AS ids FROM dataset GROUP BY flag) AS q ORDER BY flag

-- unnest
SELECT UNNEST(ids) AS id FROM (SELECT LIST(id) AS ids FROM dataset WHERE id < 4) AS q

-- a limit in a subquery
SELECT SUM(id) AS s FROM (SELECT id FROM dataset ORDER BY id DESC LIMIT 10) AS q

-- find similar to a row
SELECT id, COSINE_SIMILARITY(emb, (SELECT emb FROM dataset WHERE id = 3 LIMIT 1)) AS c FROM dataset ORDER BY c DESC LIMIT 5
=> rows sorted(rows, key=lambda r: -cosine(r.emb, rows[3].emb))[:5]
=> id: r.id
=> c: cosine(r.emb, rows()[3].emb)

-- find similar to a row, without FROM, by a parameter
SELECT id ORDER BY L2_DISTANCE(emb, (SELECT emb WHERE id = ?)) LIMIT 5
=> params [4]
=> rows sorted(rows, key=lambda r: np.linalg.norm(r.emb - rows[4].emb))[:5]
=> id: r.id

-- a tensor of no row is null
SELECT id, COSINE_SIMILARITY(emb, (SELECT emb FROM dataset WHERE id = 333)) AS c, (SELECT emb FROM dataset WHERE id = 333) AS e FROM dataset
=> id: r.id
=> c: None
=> e: None

-- a tensor that is null
SELECT DOT(vec, (SELECT vec FROM dataset WHERE id = 2)) AS d FROM dataset
=> d: None

-- a tensor of many rows
SELECT COSINE_SIMILARITY(emb, (SELECT emb FROM dataset)) AS c FROM dataset
=> error QueryError: A subquery that is used as a value must return one row, but (SELECT emb FROM dataset) returns 60 | ORDER BY … LIMIT 1

-- boxes of a subquery keep their format
SELECT IOU(boxes, (SELECT predicted FROM dataset WHERE id = 7)) AS i FROM dataset
=> i: iou(r.boxes, corners(rows()[7].predicted))

-- the difference from the mean
SELECT grid - (SELECT MEAN(grid) FROM dataset GROUP BY ALL) AS d FROM dataset
=> d: r.grid - np.mean([s.grid for s in rows()], axis=0)

-- a tensor by the name that WITH gives
WITH q AS (SELECT * FROM dataset WHERE flag), p AS (SELECT * FROM q WHERE id > 5) SELECT DOT(emb, (SELECT emb FROM p ORDER BY id LIMIT 1)) AS d FROM q
=> where r.flag
=> d: r.emb @ rows()[6].emb

-- a tensor of a row that goes with each row
SELECT a.id, L2_DISTANCE(a.emb, (SELECT b.emb FROM dataset AS b WHERE b.id = a.id + 1)) AS d FROM dataset AS a ORDER BY a.id
=> id: r.id
=> d: None if r.id == 59 else np.linalg.norm(r.emb - rows()[r.id + 1].emb)

-- two tensors of subqueries stay apart
SELECT DOT(emb, (SELECT emb FROM dataset WHERE id = 3)) - DOT(emb, (SELECT emb FROM dataset WHERE id = 4)) AS d FROM dataset
=> d: r.emb @ rows()[3].emb - r.emb @ rows()[4].emb

-- equal to a subquery's tensor
SELECT id FROM dataset WHERE ALL(emb = (SELECT emb FROM dataset WHERE id = 3))
=> where r.id == 3
=> id: r.id

-- rows of values compare part by part
SELECT id FROM dataset WHERE (label, id) = ('cat', 9) OR (label, flag) <> ('cat', FALSE) AND (id, label) < (2, 'bird')
=> where (r.label, r.id) == ("cat", 9) or (r.label, r.flag) != ("cat", False) and (r.id, CLASSES.index(r.label)) < (2, 2)
=> id: r.id

-- rows of values with NaN are neither less nor more
SELECT id FROM dataset WHERE (value, id) > (2, 0)
=> where (r.value, r.id) > (2, 0)
=> id: r.id

-- rows of values in a list
SELECT id FROM dataset WHERE (id, label) IN ((0, 'dog'), (1, 'dog'), (2, 'bird'))
=> where (r.id, r.label) in ((0, "dog"), (1, "dog"), (2, "bird"))
=> id: r.id

-- rows of values in a query
SELECT id FROM dataset WHERE (label, id) IN (SELECT label, MAX(id) FROM dataset GROUP BY label)
=> where r.id == max(s.id for s in rows() if s.label == r.label)
=> id: r.id

-- rows of classes in a query of other classes
SELECT id FROM dataset WHERE (label, id) IN (SELECT label, id FROM owners)
=> where (r.label, r.id) in (("cat", 0), ("dog", 1), ("cat", 2), ("bird", 3))
=> id: r.id

-- rows of as many values
SELECT id FROM dataset WHERE (id, label) = (1, 'cat', 2)
=> error QueryTypeError: Tuples can be compared only if they have the same number of values and at least one, but the query compares (id, label) with (1, 'cat', 2)

-- IN takes a query of as many columns
SELECT id FROM dataset WHERE id IN (SELECT id, label FROM dataset)
=> error QueryTypeError: The query after id IN must have one column for each value before IN, but it has 2

-- IN takes no query of tensors
SELECT id FROM dataset WHERE id IN (SELECT image FROM dataset)
=> error QueryTypeError: one value per row, but SELECT image FROM dataset is a tensor

-- ANY takes no query of tensors
SELECT id FROM dataset WHERE id = ANY (SELECT image FROM dataset)
=> error QueryTypeError: ANY needs a subquery that returns one column of single values

-- a value is one column
SELECT id FROM dataset WHERE id = (SELECT id, label FROM dataset LIMIT 1)
=> error QueryError: A subquery that is used as a value must have exactly one column, but SELECT id, label FROM dataset LIMIT 1 has 2

-- NaN is in no query
SELECT id FROM dataset WHERE value IN (SELECT value FROM dataset WHERE id < 8)
=> where r.id < 8 and r.value == r.value
=> id: r.id

-- NaN is less than nothing that a query gives
SELECT id FROM dataset WHERE id > 50 AND value < ANY (SELECT value FROM dataset WHERE ISNAN(value))
=> rows []
=> id: r.id

-- IN takes single values, or one list
SELECT id FROM dataset WHERE id IN (?, 7)
=> params [[3, 5]]
=> error QueryTypeError: single values or one list of values

-- IS DISTINCT FROM, of classes by name
SELECT id, label IS DISTINCT FROM 'cat' AS a, size IS NOT DISTINCT FROM 'large' AS b FROM dataset
=> id: r.id
=> a: r.label != "cat"
=> b: r.size == "large"

-- IS DISTINCT FROM null, of a tensor
SELECT id FROM dataset WHERE vec IS DISTINCT FROM NULL AND n IS NOT DISTINCT FROM NULL
=> where r.vec is not None and r.n is None
=> id: r.id

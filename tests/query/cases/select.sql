-- a star gives scalar columns by name
SELECT id, n, small, flag, text, note FROM dataset

-- FROM may be left out
SELECT id, text
=> duckdb SELECT id, text FROM dataset

-- the dataset is called this, self or ds as well
SELECT a.id FROM this AS a JOIN self AS b ON a.id = b.id JOIN ds AS c ON b.id = c.id
=> duckdb SELECT id FROM dataset

-- an alias without AS
SELECT id number, score AS points FROM dataset d WHERE d.id < 3

-- constants alone
SELECT 1 AS a, 'x' AS b, 2.5 AS c, NULL AS d, TRUE AS e LIMIT 1
=> rows [0]
=> a: 1
=> b: 'x'
=> c: 2.5
=> d: None
=> e: True

-- constants per row
SELECT 7 AS seven, id FROM dataset WHERE id < 2

-- a column twice
SELECT id, id AS again FROM dataset WHERE id < 4

-- two columns of one name
SELECT id, id FROM dataset WHERE id < 3
=> where r.id < 3
=> id: r.id
=> id_1: r.id

-- arithmetic of columns
SELECT id + small AS s, id - 10 AS d, id * 2 AS m, id % 7 AS r FROM dataset

-- small integers are widened before arithmetic
SELECT small + small AS s, small * 250 AS m, -small AS n FROM dataset
=> s: 2 * r.small
=> m: 250 * r.small
=> n: -r.small

-- a quotient is never rounded, and // is
SELECT id / 4 AS q, id // 4 AS f FROM dataset

-- precedence of operators
SELECT 2 + 3 * 4 - 10 / 4 AS a, (2 + 3) * 4 AS b, -2 ** 2 AS c, 7 % 4 * 2 AS d, NOT TRUE OR TRUE AS e LIMIT 1

-- powers by sign and by name
SELECT POW(id, 2) AS a, id ** 2 AS b, POWER(2, 3) AS c FROM dataset WHERE id < 9

-- the caret is a power
SELECT id ^ 2 AS a FROM dataset WHERE id < 9

-- a star leaves columns out
SELECT * EXCLUDE (time, label, size, tags, meta, extra, emb, vec, boxes, "training/boxes", predicted, mask, objects, image, numbers, words, grid, bytes, ragged) FROM dataset
=> duckdb SELECT id, n, small, value, score, flag, text, note FROM dataset

-- a star and a computed column
SELECT * EXCLUDE (note), id * 2 AS twice FROM (SELECT id, note FROM dataset) AS q

-- a star of one side of a join
SELECT o.*, d.id AS row FROM dataset AS d JOIN owners AS o ON d.id = o.id ORDER BY o.id

-- distinct values
SELECT DISTINCT n FROM dataset ORDER BY n

-- distinct rows of two columns
SELECT DISTINCT flag, label FROM dataset

-- distinct on a column
SELECT DISTINCT ON (label) label, id FROM dataset ORDER BY label, id
=> rows sorted({c: next(r for r in rows if r.label == c) for c in CLASSES}.values(), key=lambda r: CLASSES.index(r.label))
=> label: r.label
=> id: r.id

-- distinct tensors
SELECT DISTINCT NDIM(image) AS d FROM dataset ORDER BY d
=> rows [2, 3]
=> d: r

-- distinct cells of a tensor column
SELECT DISTINCT numbers FROM dataset ORDER BY SIZE(numbers)
=> rows range(5)
=> numbers: list(range(r))

-- names of columns without an alias
SELECT id, id + 1, UPPER(text) FROM dataset WHERE id = 3
=> where r.id == 3
=> id: r.id
=> id + 1: r.id + 1
=> UPPER(text): r.text.upper()

-- a quoted name is a column
SELECT "id", "training/boxes" FROM dataset WHERE id < 5
=> where r.id < 5
=> id: r.id
=> training/boxes: r.training_boxes

-- a quoted name with its source
SELECT d."training/boxes" AS b FROM dataset AS d WHERE d.id = 7
=> where r.id == 7
=> b: r.training_boxes

-- comments and a semicolon
SELECT id /* the number */
FROM dataset
WHERE id < 3;
=> duckdb SELECT id FROM dataset WHERE id < 3

-- words in any case
select Id from dataset where ID < 3 order by iD desc limit 2
=> rows rows[2:0:-1]
=> Id: r.id

-- limit
SELECT id FROM dataset LIMIT 5

-- limit and offset
SELECT id FROM dataset ORDER BY id LIMIT 5 OFFSET 57

-- offset alone
SELECT id FROM dataset ORDER BY id OFFSET 50

-- limit of zero rows
SELECT id FROM dataset LIMIT 0

-- limit in percent
SELECT id FROM dataset LIMIT 10 PERCENT
=> rows rows[:6]
=> id: r.id

-- limit in percent by its sign
SELECT id FROM dataset ORDER BY id DESC LIMIT 5%
=> rows rows[:56:-1]
=> id: r.id

-- limit in a fraction of percent
SELECT id FROM dataset ORDER BY id LIMIT 0.1 PERCENT
=> rows []
=> id: r.id

-- offset beyond the end
SELECT id FROM dataset OFFSET 100

-- a text that looks like SQL
SELECT '-- not a comment; SELECT 1' AS a, 'it''s' AS b LIMIT 1

-- every column of every type comes through
SELECT id, tags, meta, emb, boxes, mask, image, numbers, words, grid, bytes, ragged, objects, vec FROM dataset WHERE id BETWEEN 6 AND 9
=> where 6 <= r.id <= 9
=> id: r.id
=> tags: r.tags
=> meta: r.meta
=> emb: r.emb
=> boxes: r.boxes
=> mask: r.mask
=> image: r.image
=> numbers: r.numbers
=> words: r.words
=> grid: r.grid
=> bytes: r.bytes
=> ragged: r.ragged
=> objects: r.objects
=> vec: r.vec

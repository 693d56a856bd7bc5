-- inner join
SELECT d.id, o.name FROM dataset AS d JOIN owners AS o ON d.id = o.id

-- inner join in full
SELECT d.id, o.name FROM dataset d INNER JOIN owners o ON d.id = o.id AND o.age > 30

-- left join
SELECT d.id, o.name FROM dataset AS d LEFT JOIN owners AS o ON d.id = o.id

-- right join
SELECT d.id, d.text, o.name FROM dataset AS d RIGHT JOIN owners AS o ON d.id = o.id

-- full join
SELECT d.id AS a, o.id AS b FROM dataset AS d FULL OUTER JOIN owners AS o ON d.id = o.id

-- cross join
SELECT d.id, o.name FROM dataset AS d CROSS JOIN owners AS o

-- comma join
SELECT d.id, o.name FROM dataset AS d, owners AS o WHERE d.id = o.id

-- cross product of the dataset with itself
SELECT COUNT(*) AS c FROM dataset AS a, dataset AS b

-- join using
SELECT id, d.text, o.name FROM dataset AS d JOIN owners AS o USING (id)

-- left join using
SELECT id, name FROM dataset LEFT JOIN owners USING (id) WHERE id < 6

-- full join using
SELECT id, name FROM dataset FULL JOIN owners USING (id) WHERE id < 3 OR id > 57

-- join using two columns
SELECT id, label, name FROM dataset JOIN owners USING (id, label)

-- a star after USING has the column once
SELECT * FROM (SELECT id, text FROM dataset) AS a JOIN (SELECT id, name FROM owners) AS b USING (id)

-- natural join
SELECT id, name FROM (SELECT id, text FROM dataset) AS a NATURAL JOIN (SELECT id, name FROM owners) AS b

-- join on any condition
SELECT d.id, o.id AS other FROM dataset AS d JOIN owners AS o ON d.id > o.id * 20 AND d.flag

-- join on a text condition
SELECT d.id, o.name FROM dataset AS d JOIN owners AS o ON d.label = o.label AND d.text LIKE '%' || LOWER(LEFT(o.name, 1)) || '%'

-- three tables
SELECT a.id, o.name, b.text FROM dataset AS a JOIN owners AS o ON a.id = o.id JOIN dataset AS b ON b.id = a.id + 1

-- a self join
SELECT a.id AS x, b.id AS y FROM dataset AS a JOIN dataset AS b ON a.n = b.n AND a.id < b.id WHERE a.id < 10

-- a join without a match
SELECT d.id FROM dataset AS d JOIN owners AS o ON d.id = o.id + 1000

-- what is not in the other
SELECT o.name FROM owners AS o LEFT JOIN dataset AS d ON d.id = o.id WHERE d.id IS NULL

-- semi join
SELECT d.id FROM dataset AS d SEMI JOIN owners AS o ON d.id = o.id

-- anti join
SELECT o.name FROM owners AS o ANTI JOIN dataset AS d ON d.id = o.id

-- join with an aggregate
SELECT d.id, q.c FROM dataset AS d JOIN (SELECT n, COUNT(*) AS c FROM dataset GROUP BY n) AS q ON d.n = q.n

-- images of a join
SELECT d.image, o.name FROM dataset AS d JOIN owners AS o ON d.id = o.id ORDER BY d.id
=> where r.id < 4
=> image: r.image
=> name: ['Ada', 'Bob', 'Cyd', 'Ada'][r.id]

-- images of an outer join are null
SELECT o.name, d.image, MEAN(d.image) AS m FROM owners AS o LEFT JOIN dataset AS d ON d.id = o.id ORDER BY o.id
=> rows [*rows[:4], None]
=> name: ['Ada', 'Bob', 'Cyd', 'Ada'][r.id] if r else 'Zoe'
=> image: r and r.image
=> m: r and r.image.mean()

-- join on a tensor's reduction
SELECT a.id AS x, b.id AS y FROM dataset AS a JOIN dataset AS b ON MAX(a.grid) < MIN(b.grid) + 1 ORDER BY x, y
=> rows [(a, b) for a in rows for b in rows if a.grid.max() < b.grid.min() + 1]
=> x: r[0].id
=> y: r[1].id

-- join on a function of two rows' tensors
SELECT a.id AS x, b.id AS y FROM dataset AS a JOIN dataset AS b ON COSINE_SIMILARITY(a.emb, b.emb) > 0.9 WHERE a.id < b.id ORDER BY x, y
=> rows [(a, b) for a in rows for b in rows if a.id < b.id and cosine(a.emb, b.emb) > 0.9]
=> x: r[0].id
=> y: r[1].id

-- a function of two rows' tensors
SELECT a.id AS x, b.id AS y, IOU(a.boxes, b.boxes) AS i FROM dataset AS a JOIN dataset AS b ON b.id = a.id + 4 ORDER BY x
=> rows [(a, b) for a, b in zip(rows, rows[4:])]
=> x: r[0].id
=> y: r[1].id
=> i: iou(r[0].boxes, r[1].boxes)

-- versions of one lake: labels that differ
SELECT new.id, new.label AS a, old.label AS b FROM dataset AS new JOIN dataset VERSION 'v1' AS old ON new.id = old.id WHERE new.label <> old.label
=> duckdb SELECT new.id, new.label AS a, old.label AS b FROM dataset AS new JOIN old ON new.id = old.id WHERE new.label <> old.label

-- a version alone
SELECT COUNT(*) AS c, MAX(id) AS m FROM dataset VERSION 'v1'
=> duckdb SELECT COUNT(*) AS c, MAX(id) AS m FROM old

-- rows that came since a version
SELECT id FROM dataset WHERE id NOT IN (SELECT id FROM dataset VERSION 'v1')
=> duckdb SELECT id FROM dataset WHERE id >= 40

-- rows of a version by their ids
SELECT a.id FROM dataset AS a JOIN dataset VERSION 'v1' AS b ON ROW_ID(a) = ROW_ID(b)
=> duckdb SELECT id FROM dataset WHERE id < 40

-- a lake by its URL
SELECT COUNT(*) AS c FROM 'memory://query-owners'
=> duckdb SELECT COUNT(*) AS c FROM owners

-- a lake by its URL in double quotes and a name
SELECT o.name FROM "memory://query-owners" AS o WHERE o.age < 30
=> duckdb SELECT name FROM owners WHERE age < 30

-- a lake by its URL and a version
SELECT COUNT(*) AS c FROM 'memory://query-tests' VERSION 'v1' AS d
=> duckdb SELECT COUNT(*) AS c FROM old

-- a join of lakes by URL
SELECT d.id, o.name FROM 'memory://query-tests' AS d JOIN 'memory://query-owners' AS o ON d.id = o.id
=> duckdb SELECT d.id, o.name FROM dataset AS d JOIN owners AS o ON d.id = o.id

-- columns of one name in a star of a join
SELECT * FROM (SELECT id, text FROM dataset WHERE id < 3) AS a JOIN (SELECT id, name FROM owners) AS b ON a.id = b.id ORDER BY a.id
=> where r.id < 3
=> id: r.id
=> text: r.text
=> id_1: r.id
=> name: ['Ada', 'Bob', 'Cyd'][r.id]

-- a join with nulls matches none
SELECT COUNT(*) AS c FROM dataset AS a JOIN dataset AS b ON a.n = b.n

-- a positional mix of joins
SELECT d.id, o.name, p.name AS other FROM dataset AS d LEFT JOIN owners AS o ON d.id = o.id LEFT JOIN owners AS p ON p.id = o.id + 1 WHERE d.id < 6

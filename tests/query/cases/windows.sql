-- row number
SELECT id, ROW_NUMBER() OVER (ORDER BY id DESC) AS r FROM dataset

-- row number by partition
SELECT id, ROW_NUMBER() OVER (PARTITION BY label ORDER BY score DESC, id) AS r FROM dataset

-- ranks
SELECT id, RANK() OVER (ORDER BY n) AS a, DENSE_RANK() OVER (ORDER BY n) AS b, PERCENT_RANK() OVER (ORDER BY id) AS c, NTILE(4) OVER (ORDER BY id) AS d FROM dataset

-- neighbours
SELECT id, LAG(id) OVER (ORDER BY id) AS a, LEAD(id, 2, -1) OVER (ORDER BY id) AS b FROM dataset

-- running sums
SELECT id, SUM(id) OVER (ORDER BY id) AS a, AVG(score) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS b FROM dataset

-- sums of a partition
SELECT id, SUM(id) OVER (PARTITION BY flag) AS a, COUNT(*) OVER () AS b FROM dataset

-- first and last of a partition
SELECT id, FIRST_VALUE(text) OVER (PARTITION BY label ORDER BY id) AS a, LAST_VALUE(id) OVER (PARTITION BY label ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS b FROM dataset

-- QUALIFY
SELECT id, label FROM dataset QUALIFY ROW_NUMBER() OVER (PARTITION BY label ORDER BY id DESC) <= 2

-- a window of a subquery
SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY n ORDER BY id) AS k FROM dataset) AS q WHERE k = 1

-- a named window
SELECT id, SUM(id) OVER w AS a, COUNT(*) OVER w AS b FROM dataset WINDOW w AS (PARTITION BY flag ORDER BY id)

-- a window over a tensor's reduction
SELECT id, ROW_NUMBER() OVER (ORDER BY MEAN(image)) AS r FROM dataset ORDER BY id
=> id: r.id
=> r: 1 + sum(x.image.mean() < r.image.mean() for x in rows())

-- a window in arithmetic
SELECT id, id - LAG(id, 1, 0) OVER (ORDER BY id) AS d FROM dataset

-- the share of a total
SELECT id, 100.0 * id / SUM(id) OVER () AS p FROM dataset

-- a window beside images
SELECT image, ROW_NUMBER() OVER (ORDER BY id DESC) AS r FROM dataset WHERE id < 5 ORDER BY id
=> where r.id < 5
=> image: r.image
=> r: 5 - r.id

-- the position of a row
SELECT id, ROW_NUMBER() AS r FROM dataset WHERE id > 50
=> where r.id > 50
=> id: r.id
=> r: r.id

-- rows by position
SELECT id FROM dataset WHERE ROW_NUMBER() % 10 = 3
=> where r.id % 10 == 3
=> id: r.id

-- a filtered window
SELECT id, COUNT(*) FILTER (WHERE flag) OVER (ORDER BY id) AS c FROM dataset

-- the tensor of the row before
SELECT id, L2_DISTANCE(emb, LAG(emb) OVER (ORDER BY id)) AS d, LEAD(boxes, 2) OVER (ORDER BY id) AS b FROM dataset
=> id: r.id
=> d: None if r.id == 0 else np.linalg.norm(r.emb - rows()[r.id - 1].emb)
=> b: rows()[r.id + 2].boxes if r.id < 58 else None

-- the first tensor of a part
SELECT id, FIRST(emb) OVER (PARTITION BY label ORDER BY id) AS e FROM dataset ORDER BY id
=> id: r.id
=> e: next(s.emb for s in rows() if s.label == r.label)

-- a window over tensors says what to do
SELECT MEAN(emb) OVER () AS m FROM dataset
=> error QueryTypeError: OVER needs one value per row, but emb is a tensor | AVG(AMEAN(x)) OVER

-- a list of tensors over a window
SELECT LIST(emb) OVER (ORDER BY id) AS m FROM dataset
=> error QueryTypeError: OVER needs one value per row, but emb is a tensor

-- OVER follows an aggregate
SELECT L2_NORM(emb) OVER () AS m FROM dataset
=> error QueryTypeError: OVER must follow an aggregate or a window function

-- FILTER follows an aggregate
SELECT MEAN(emb) FILTER (WHERE flag) AS m FROM dataset
=> error QueryTypeError: FILTER must follow an aggregate over many rows, but MEAN(emb) reduces each row

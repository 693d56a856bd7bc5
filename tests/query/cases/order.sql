-- by a number
SELECT id FROM dataset ORDER BY id DESC

-- by several
SELECT label, n, id FROM dataset ORDER BY flag DESC, n ASC NULLS FIRST, id DESC

-- nulls come last
SELECT id, n FROM dataset ORDER BY n, id

-- nulls come last in descending order too
SELECT id, n FROM dataset ORDER BY n DESC, id

-- nulls first
SELECT id, n FROM dataset ORDER BY n NULLS FIRST, id

-- nulls first in descending order
SELECT id, n FROM dataset ORDER BY n DESC NULLS FIRST, id

-- NaN comes last
SELECT id, value FROM dataset ORDER BY value, id
=> order (last(r.value), r.id)
=> id: r.id
=> value: r.value

-- NaN comes last in descending order too
SELECT id, value FROM dataset ORDER BY value DESC, id
=> order (falling(r.value), r.id)
=> id: r.id
=> value: r.value

-- by a position
SELECT text, id FROM dataset ORDER BY 2 DESC LIMIT 4

-- by an alias
SELECT id, id % 7 AS r FROM dataset ORDER BY r, id DESC

-- by an alias that is a column too
SELECT id, -score AS score FROM dataset ORDER BY score NULLS LAST, id
=> order (last(None if r.score is None else -r.score), r.id)
=> id: r.id
=> score: None if r.score is None else -r.score

-- by what is not selected
SELECT text FROM dataset ORDER BY id DESC LIMIT 4

-- by an expression
SELECT id FROM dataset ORDER BY ABS(id - 30), id

-- by all
SELECT flag, id FROM dataset ORDER BY ALL

-- by a text
SELECT id, text FROM dataset ORDER BY text, id

-- by the mean of an image
SELECT id FROM dataset ORDER BY MEAN(image) DESC LIMIT 7
=> rows sorted(rows, key=lambda r: -r.image.mean())[:7]
=> id: r.id

-- by an element of a tensor
SELECT id FROM dataset ORDER BY grid[1, 2]
=> order r.grid[1, 2]
=> id: r.id

-- by a distance of vectors
SELECT id FROM dataset ORDER BY L2_DISTANCE(emb, ARRAY[1, 0, 0, 0]) LIMIT 5
=> rows sorted(rows, key=lambda r: np.linalg.norm(r.emb - [1, 0, 0, 0]))[:5]
=> id: r.id

-- by a reduction that is NaN
SELECT id FROM dataset ORDER BY MEAN(boxes) DESC, id
=> order (falling(r.boxes.mean() if r.boxes.size else math.nan), r.id)
=> id: r.id

-- ties keep the order of rows
SELECT id FROM dataset ORDER BY flag LIMIT 25
=> order r.flag
=> rows sorted(rows, key=lambda r: r.flag)[:25]
=> id: r.id

-- by a tensor of a nullable column
SELECT id FROM dataset ORDER BY SUM(vec) DESC, id LIMIT 55
=> rows sorted(rows, key=lambda r: (falling(None if r.vec is None else float(r.vec.sum())), r.id))[:55]
=> id: r.id

-- by random numbers of a seed twice the same
SELECT a.id FROM (SELECT id, RANDOM(7) AS x FROM dataset) AS a JOIN (SELECT id, RANDOM(7) AS x FROM dataset) AS b ON a.id = b.id AND a.x = b.x
=> duckdb SELECT id FROM dataset

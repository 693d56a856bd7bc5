-- cosine similarity
SELECT id, COSINE_SIMILARITY(emb, [1, 2, 3, 4]) AS c FROM dataset
=> id: r.id
=> c: cosine(r.emb, [1, 2, 3, 4])

-- nearest by cosine
SELECT id FROM dataset ORDER BY COSINE_SIMILARITY(emb, ARRAY[1, 2, 3, 4]) DESC LIMIT 10
=> rows sorted(rows, key=lambda r: -cosine(r.emb, [1, 2, 3, 4]))[:10]
=> id: r.id

-- a zero vector has similarity 0
SELECT id, COSINE_SIMILARITY(emb, [1, 0, 0, 0]) AS c FROM dataset WHERE L2_NORM(emb) = 0
=> where r.id % 15 == 7
=> id: r.id
=> c: 0.0

-- null vectors
SELECT id, COSINE_SIMILARITY(vec, [1, 0, 0]) AS c FROM dataset
=> id: r.id
=> c: None if r.vec is None else cosine(r.vec, [1, 0, 0])

-- null vectors sort last
SELECT id FROM dataset ORDER BY COSINE_SIMILARITY(vec, [1, 1, 1]) DESC, id
=> order (falling(None if r.vec is None else cosine(r.vec, [1, 1, 1])), r.id)
=> id: r.id

-- distances and inner products
SELECT L2_DISTANCE(emb, [1, 2, 3, 4]) AS a, DOT(emb, [1, 2, 3, 4]) AS b, DOT(emb, emb) AS c FROM dataset
=> a: np.linalg.norm(r.emb - [1, 2, 3, 4])
=> b: r.emb @ [1, 2, 3, 4]
=> c: r.emb @ r.emb

-- norms
SELECT L1_NORM(emb) AS a, L2_NORM(emb) AS b, LINF_NORM(emb) AS c FROM dataset
=> a: np.abs(r.emb).sum()
=> b: np.linalg.norm(r.emb)
=> c: np.abs(r.emb).max()

-- Hamming distance
SELECT HAMMING_DISTANCE(bytes[0] > 128, bytes[1] > 128) AS h FROM dataset
=> h: int(((r.bytes[0] > 128) != (r.bytes[1] > 128)).sum())

-- MAXSIM
SELECT MAXSIM(grid, [[1, 0, 0, 0], [0, 1, 0, 0]]) AS m FROM dataset
=> m: r.grid[:, 0].max() + r.grid[:, 1].max()

-- a condition on a distance, with others
SELECT id FROM dataset WHERE flag AND L2_DISTANCE(emb, [0, 0, 0, 0]) < 2 ORDER BY L2_DISTANCE(emb, [0, 0, 0, 0]) LIMIT 5
=> rows sorted([r for r in rows if r.flag and np.linalg.norm(r.emb) < 2], key=lambda r: np.linalg.norm(r.emb))[:5]
=> id: r.id

-- vectors of a subquery's row
SELECT a.id, COSINE_SIMILARITY(a.emb, b.emb) AS c FROM dataset AS a, (SELECT emb FROM dataset WHERE id = 3) AS b ORDER BY c DESC LIMIT 5
=> rows sorted(rows, key=lambda r: -cosine(r.emb, rows[3].emb))[:5]
=> id: r.id
=> c: cosine(r.emb, rows()[3].emb)

-- the mean vector of a class
SELECT label, MEAN(emb) AS m FROM dataset GROUP BY label ORDER BY label
=> rows CLASSES
=> label: r
=> m: np.mean([x.emb for x in rows() if x.label == r], 0)

-- similarity in arithmetic with a column
SELECT id, 0.5 * COSINE_SIMILARITY(emb, [1, 0, 0, 0]) + 0.5 * COALESCE(score, 0) / 15 AS s FROM dataset ORDER BY s DESC LIMIT 6
=> rows sorted(rows, key=lambda r: -(cosine(r.emb, [1, 0, 0, 0]) + (r.score or 0) / 15))[:6]
=> id: r.id
=> s: 0.5 * cosine(r.emb, [1, 0, 0, 0]) + 0.5 * (r.score or 0) / 15

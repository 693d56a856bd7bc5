-- ARRANGE BY puts equal values together
SELECT id, label FROM dataset ARRANGE BY label
=> order [x.label for x in rows()].index(r.label)
=> id: r.id
=> label: r.label

-- ARRANGE BY keeps the order within
SELECT id FROM dataset ORDER BY id DESC ARRANGE BY flag
=> rows sorted(rows[::-1], key=lambda r: not r.flag) if rows[-1].flag else sorted(rows[::-1], key=lambda r: r.flag)
=> id: r.id

-- ARRANGE BY several
SELECT id FROM dataset WHERE id < 12 ARRANGE BY flag, id % 2
=> rows [rows[i] for i in (0, 6, 1, 5, 7, 11, 2, 4, 8, 10, 3, 9)]
=> id: r.id

-- ARRANGE BY an expression that is not selected
SELECT id FROM dataset WHERE id < 6 ARRANGE BY id % 3
=> rows [rows[i] for i in (0, 3, 1, 4, 2, 5)]
=> id: r.id

-- ARRANGE BY an alias
SELECT id, id % 3 AS k FROM dataset WHERE id < 6 ARRANGE BY k
=> rows [rows[i] for i in (0, 3, 1, 4, 2, 5)]
=> id: r.id
=> k: r.id % 3

-- ARRANGE BY a tensor's reduction
SELECT id FROM dataset WHERE id < 8 ARRANGE BY SIZE(numbers)
=> rows [rows[i] for i in (0, 5, 1, 6, 2, 7, 3, 4)]
=> id: r.id

-- ARRANGE BY a nullable column
SELECT id FROM dataset WHERE id < 15 ARRANGE BY n
=> rows [rows[i] for i in (0, 11, 1, 8, 2, 9, 3, 10, 4, 5, 12, 6, 13, 7, 14)]
=> id: r.id

-- ARRANGE BY runs after LIMIT
SELECT id FROM dataset ORDER BY id LIMIT 6 ARRANGE BY flag
=> rows [rows[i] for i in (0, 3, 1, 2, 4, 5)]
=> id: r.id

-- ARRANGE BY with images
SELECT image, label FROM dataset WHERE id < 9 ARRANGE BY label
=> rows sorted(rows[:9], key=lambda r: [x.label for x in rows].index(r.label))
=> image: r.image
=> label: r.label

-- EXPAND BY takes the rows around
SELECT id FROM dataset WHERE id = 30 EXPAND BY 2, 1
=> rows rows[28:32]
=> id: r.id

-- EXPAND BY stops at the ends
SELECT id FROM dataset WHERE id IN (0, 59) EXPAND BY 1, 1
=> rows [rows[i] for i in (0, 1, 58, 59)]
=> id: r.id

-- EXPAND BY gives a row once
SELECT id FROM dataset WHERE id IN (10, 11, 12) EXPAND BY 1, 1
=> rows rows[9:14]
=> id: r.id

-- EXPAND BY keeps the order of matches
SELECT id FROM dataset WHERE id IN (5, 20) ORDER BY id DESC EXPAND BY 1, 0
=> rows [rows[i] for i in (19, 20, 4, 5)]
=> id: r.id

-- EXPAND BY with images
SELECT id, image FROM dataset WHERE id = 12 EXPAND BY 1, 1
=> rows rows[11:14]
=> id: r.id
=> image: r.image

-- EXPAND BY with tensor expressions
SELECT id, MEAN(image) AS m FROM dataset WHERE id = 12 EXPAND BY 1, 1
=> rows rows[11:14]
=> id: r.id
=> m: r.image.mean()

-- EXPAND BY with values that SQL computes
SELECT id, id * 2 AS twice FROM dataset WHERE id = 12 EXPAND BY 1, 1
=> rows rows[11:14]
=> id: r.id
=> twice: 2 * r.id

-- EXPAND BY after ARRANGE BY
SELECT id FROM dataset WHERE id IN (10, 20, 31) ARRANGE BY id % 2 EXPAND BY 0, 1
=> rows [rows[i] for i in (10, 11, 20, 21, 31, 32)]
=> id: r.id

-- ARRANGE BY after EXPAND BY
SELECT id FROM dataset WHERE id IN (10, 20) EXPAND BY 1, 0 ARRANGE BY id % 2
=> rows [rows[i] for i in (9, 19, 10, 20)]
=> id: r.id

-- EXPAND BY with parameters
SELECT id FROM dataset WHERE id = 30 EXPAND BY ?, ?
=> params [1, 2]
=> rows rows[29:33]
=> id: r.id

-- EXPAND BY of one number
SELECT id FROM dataset WHERE id = 30 EXPAND BY 0, 0
=> rows [rows[30]]
=> id: r.id

-- all clauses of a query
SELECT id, label FROM dataset WHERE id > 3 AND flag ORDER BY id DESC LIMIT 10 OFFSET 2 ARRANGE BY label
=> rows (lambda f: sorted(f, key=lambda r: [x.label for x in f].index(r.label)))([r for r in rows[::-1] if r.id > 3 and r.flag][2:12])
=> id: r.id
=> label: r.label

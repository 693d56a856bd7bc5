-- union
SELECT id FROM dataset WHERE id < 5 UNION SELECT id FROM owners

-- union all
SELECT id FROM dataset WHERE id < 5 UNION ALL SELECT id FROM owners

-- union all in parentheses does not drop rows
(SELECT id FROM dataset WHERE id < 4) UNION ALL (SELECT id FROM dataset WHERE id < 4)

-- intersect
SELECT id FROM dataset INTERSECT SELECT id FROM owners

-- intersect all
SELECT n FROM dataset INTERSECT ALL SELECT id FROM owners

-- except
SELECT id FROM dataset EXCEPT SELECT id FROM dataset WHERE flag

-- except all
SELECT n FROM dataset EXCEPT ALL SELECT id FROM owners

-- three in a row
SELECT id FROM owners UNION (SELECT 7 LIMIT 1) UNION ALL (SELECT 7 LIMIT 1)

-- a union of two columns
SELECT id, text FROM dataset WHERE id < 3 UNION SELECT id, name FROM owners

-- a union that is sorted and cut
SELECT id FROM dataset UNION ALL SELECT id FROM owners ORDER BY id DESC LIMIT 4

-- parts that are sorted and cut
(SELECT id FROM dataset ORDER BY id DESC LIMIT 3) UNION ALL (SELECT id FROM owners ORDER BY id LIMIT 2)

-- a union in a subquery
SELECT COUNT(*) AS c FROM (SELECT id FROM dataset UNION ALL SELECT id FROM owners) AS q

-- a union of numbers and fractions
SELECT id FROM dataset WHERE id < 2 UNION ALL SELECT score FROM dataset WHERE id < 2

-- a union with null
SELECT n FROM dataset WHERE id < 3 UNION ALL (SELECT NULL LIMIT 1)

-- names come from the first
SELECT id AS a FROM dataset WHERE id < 2 UNION ALL SELECT age AS b FROM owners

-- images in a union
SELECT image FROM dataset WHERE id < 2 UNION ALL SELECT image FROM dataset WHERE id = 5
=> rows [rows[0], rows[1], rows[5]]
=> image: r.image

-- images of two versions in a union
SELECT id, image FROM dataset WHERE id = 3 UNION ALL SELECT id, image FROM dataset VERSION 'v1' WHERE id = 2
=> rows [rows[3], rows[2]]
=> id: r.id
=> image: r.image

-- equal images come once
SELECT COUNT(*) AS n FROM (SELECT image FROM dataset WHERE id < 3 UNION SELECT image FROM dataset WHERE id < 2)
=> rows [3]
=> n: r

-- rows with tensors that the other lacks
SELECT id, grid FROM dataset EXCEPT SELECT id, grid FROM dataset VERSION 'v1' ORDER BY id
=> where r.id >= 40
=> id: r.id
=> grid: r.grid

-- tensors computed in a union
SELECT grid[0] AS g FROM dataset WHERE id < 2 UNION ALL SELECT grid[1] FROM dataset WHERE id < 2
=> rows [rows[0].grid[0], rows[1].grid[0], rows[0].grid[1], rows[1].grid[1]]
=> g: r

-- equal tensors are equal, read or computed
SELECT id, grid FROM dataset WHERE id < 3 EXCEPT SELECT id, grid * 1 FROM dataset WHERE id < 2
=> where r.id == 2
=> id: r.id
=> grid: r.grid

-- UNION of boxes of two formats
SELECT boxes AS b FROM dataset UNION SELECT predicted FROM dataset
=> error QueryTypeError: UNION must be given boxes of the same format, but they are xywh and xyxy

-- UNION of tensors of two dtypes compares their numbers
SELECT COUNT(*) AS n FROM (SELECT bytes AS b FROM dataset WHERE id < 3 UNION SELECT bytes * 1 FROM dataset WHERE id < 5)
=> rows [5]
=> n: r

-- INTERSECT of tensors of two dtypes
SELECT COUNT(*) AS n FROM (SELECT bytes AS b FROM dataset WHERE id < 5 INTERSECT SELECT bytes / 1 FROM dataset WHERE id > 2)
=> rows [2]
=> n: r

-- UNION of a computed number and one of SQL
SELECT SHAPE(image)[0] AS h FROM dataset WHERE id < 3 UNION ALL SELECT 3 FROM dataset WHERE id = 0
=> rows [6, 9, 10, 3]
=> h: r

-- UNION of images, ordered by what they hold
SELECT image FROM (SELECT image FROM dataset WHERE id < 3 UNION SELECT image FROM dataset WHERE id < 5) ORDER BY MEAN(image)
=> rows sorted(rows[:5], key=lambda r: r.image.mean())
=> image: r.image

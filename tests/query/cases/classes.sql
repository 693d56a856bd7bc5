-- classes compare by name
SELECT id FROM dataset WHERE label = 'cat'

-- classes differ by name
SELECT id FROM dataset WHERE label <> 'cat'

-- classes in a list of names
SELECT id FROM dataset WHERE label IN ('cat', 'bird')

-- classes not in a list of names
SELECT id FROM dataset WHERE label NOT IN ('cat', 'bird')

-- classes compare by number
SELECT id FROM dataset WHERE label = 1
=> where r.label == 'cat'
=> id: r.id

-- classes sort by number
SELECT label, id FROM dataset ORDER BY label, id
=> order (CLASSES.index(r.label), r.id)
=> label: r.label
=> id: r.id

-- classes sort by name
SELECT label, id FROM dataset ORDER BY NAME(label), id
=> order (r.label, r.id)
=> label: r.label
=> id: r.id

-- classes cast to a text are their names
SELECT id, CAST(label AS TEXT) AS c FROM dataset
=> id: r.id
=> c: r.label

-- classes cast to a number
SELECT id, CAST(label AS INT) AS c FROM dataset
=> id: r.id
=> c: CLASSES.index(r.label)

-- nullable classes
SELECT id, size FROM dataset WHERE size = 'large' OR size IS NULL

-- nullable classes group
SELECT size, COUNT(*) AS n FROM dataset GROUP BY size ORDER BY n, size NULLS LAST
=> duckdb SELECT size, COUNT(*) AS n FROM dataset GROUP BY size ORDER BY n, size

-- classes in text functions
SELECT id, UPPER(label) AS u, label || '!' AS b, LENGTH(label) AS l FROM dataset

-- classes LIKE
SELECT id FROM dataset WHERE label LIKE '%d'

-- classes from CASE
SELECT id, CASE WHEN flag THEN label END AS c FROM dataset

-- CASE of a class
SELECT id, CASE label WHEN 'cat' THEN 1 WHEN 'dog' THEN 2 ELSE 0 END AS c FROM dataset

-- CASE with classes and a text
SELECT id, CASE WHEN flag THEN label ELSE 'none' END AS c FROM dataset

-- classes of two columns of other names
SELECT d.id, o.name FROM dataset AS d JOIN owners AS o ON d.label = o.label WHERE d.id < 10

-- classes and texts compare
SELECT id FROM dataset WHERE label || '' = 'cat' AND text <> label

-- the greatest class is that of the greatest number
SELECT MAX(label) AS a, MIN(label) AS b FROM dataset
=> rows [0]
=> a: 'bird'
=> b: 'dog'

-- the first class of a group
SELECT flag, FIRST(label ORDER BY id) AS c FROM dataset GROUP BY flag ORDER BY flag

-- how many classes there are
SELECT COUNT(DISTINCT label) AS c FROM dataset

-- several classes contain one
SELECT id FROM dataset WHERE CONTAINS(tags, 'sea')
=> where 'sea' in r.tags
=> id: r.id

-- several classes contain none of a name
SELECT id FROM dataset WHERE NOT CONTAINS(tags, 'sea')
=> where 'sea' not in r.tags
=> id: r.id

-- any of several classes
SELECT id FROM dataset WHERE ANY(tags = 'tree')
=> where 'tree' in r.tags
=> id: r.id

-- how many classes a row has
SELECT id, SIZE(tags) AS c FROM dataset WHERE SIZE(tags) = 2
=> where len(r.tags) == 2
=> id: r.id
=> c: len(r.tags)

-- the first of several classes
SELECT id, tags[0] AS t FROM dataset WHERE SIZE(tags) > 0 AND tags[0] = 'tree'
=> where r.tags[:1] == ['tree']
=> id: r.id
=> t: 'tree'

-- classes by a parameter
SELECT id FROM dataset WHERE label = ?
=> params ['bird']

-- classes by a list of parameters
SELECT id FROM dataset WHERE label IN (?, ?)
=> params ['bird', 'dog']

-- classes in a comparison with a subquery
SELECT id FROM dataset WHERE label = (SELECT label FROM owners WHERE name = 'Bob')

-- classes in a subquery
SELECT id FROM dataset WHERE label IN (SELECT label FROM owners WHERE age > 40)

-- the union of classes of two lakes
SELECT label FROM dataset WHERE id < 5 UNION SELECT label FROM owners

-- NULLIF and COALESCE of classes
SELECT id, COALESCE(size, 'small') AS s, NULLIF(label, 'cat') AS c FROM dataset

-- masks contain a class
SELECT id FROM dataset WHERE CONTAINS(mask, 'car') AND NOT ALL(mask = 'sky')
=> where (r.mask == 2).any() and not (r.mask == 1).all()
=> id: r.id

-- the share of a class in a mask
SELECT id, MEAN(mask = 'sky') AS share FROM dataset WHERE share > 0.4 ORDER BY share DESC, id
=> where (r.mask == 1).mean() > 0.4
=> order (-(r.mask == 1).mean(), r.id)
=> id: r.id
=> share: (r.mask == 1).mean()

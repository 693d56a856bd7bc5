-- LIKE
SELECT id FROM dataset WHERE text LIKE '%fox%'

-- ILIKE
SELECT id FROM dataset WHERE text ILIKE 'a %'

-- NOT LIKE
SELECT id FROM dataset WHERE text NOT LIKE '%a%'

-- LIKE with one character
SELECT id FROM dataset WHERE text LIKE '_ox'

-- LIKE with an escape
SELECT id FROM dataset WHERE text LIKE '%!_%' ESCAPE '!' OR text LIKE '%\%' ESCAPE '\'

-- LIKE of null
SELECT id FROM dataset WHERE note LIKE '%1%'

-- quotes in texts
SELECT id FROM dataset WHERE text = 'it''s ''quoted''' OR text = 'say "hi"'

-- length and case
SELECT id, LENGTH(text) AS l, UPPER(text) AS u, LOWER(text) AS d FROM dataset

-- letters of other scripts
SELECT id, LENGTH(text) AS l, text FROM dataset WHERE text = '日本語' OR text = '😀 smile'

-- joined texts
SELECT text || '-' || CAST(id AS TEXT) AS a, CONCAT(text, '/', id) AS b, CONCAT_WS('+', text, note) AS c FROM dataset

-- substrings
SELECT SUBSTRING(text, 2, 3) AS a, SUBSTR(text, 3) AS b, LEFT(text, 2) AS c, RIGHT(text, 2) AS d FROM dataset

-- substring in words
SELECT SUBSTRING(text FROM 2 FOR 3) AS a FROM dataset

-- indices of a text count from 0
SELECT text[0] AS a, text[-1] AS b, text[1:3] AS c, text[:2] AS d, text[2:] AS e FROM dataset
=> a: r.text[:1]
=> b: r.text[-1:]
=> c: r.text[1:3]
=> d: r.text[:2]
=> e: r.text[2:]

-- negative slices of a text
SELECT text[:-1] AS a, text[-3:] AS b, text[-3:-1] AS c FROM dataset
=> a: r.text[:-1]
=> b: r.text[-3:]
=> c: r.text[-3:-1]

-- trim and pad
SELECT TRIM('  a ') AS a, LTRIM('  a') AS b, RTRIM('a  ') AS c, LPAD(text, 5, '*') AS d, RPAD(text, 5, '*') AS e FROM dataset

-- trim in words
SELECT TRIM(BOTH 'x' FROM 'xxaxx') AS a LIMIT 1

-- replace, reverse, repeat
SELECT REPLACE(text, 'o', '0') AS a, REVERSE(text) AS b, REPEAT(text, 2) AS c FROM dataset

-- position and contains
SELECT POSITION('o' IN text) AS a, STRPOS(text, 'x') AS b, CONTAINS(text, 'fox') AS c FROM dataset

-- starts and ends
SELECT STARTS_WITH(text, 'a') AS a, ENDS_WITH(text, 'fox') AS b, PREFIX(text, 'f') AS c FROM dataset

-- regular expressions
SELECT REGEXP_MATCHES(text, '[aeiou]{2}|^f') AS a, REGEXP_REPLACE(text, '[aeiou]', '*', 'g') AS b, REGEXP_EXTRACT(text, '(\w+)', 1) AS c FROM dataset

-- a split text is a list
SELECT STRING_SPLIT('a b c', ' ') AS a LIMIT 1
=> rows [0]
=> a: ['a', 'b', 'c']

-- the first part of a split text
SELECT SPLIT_PART(text, ' ', 1) AS a, STRING_SPLIT(text, ' ')[0] AS b FROM dataset
=> a: r.text.split(' ')[0]
=> b: r.text.split(' ')[0]

-- texts joined over a group
SELECT flag, STRING_AGG(text, ', ' ORDER BY id) AS a FROM dataset WHERE id < 8 GROUP BY flag ORDER BY flag

-- numbers as texts
SELECT CAST(id AS VARCHAR) AS a, CAST(score AS TEXT) AS b FROM dataset

-- formatted texts
SELECT FORMAT('{}-{}', id, text) AS a, PRINTF('%03d', id) AS b FROM dataset

-- codes
SELECT ASCII('a') AS a, CHR(98) AS b, MD5('a') AS c, HEX('a') AS d LIMIT 1

-- an empty text is no null
SELECT id FROM dataset WHERE note = '' OR text = ''

-- similar texts
SELECT LEVENSHTEIN(text, 'fax') AS a, JACCARD('abc', 'abd') AS b FROM dataset

-- words of a sequence
SELECT id, words FROM dataset WHERE CONTAINS(words, 'beta')
=> where 'beta' in r.words
=> id: r.id
=> words: r.words

-- a word of a sequence
SELECT id, words[0] AS w FROM dataset WHERE SIZE(words) > 0
=> where r.words
=> id: r.id
=> w: r.words[0]

-- BM25 of all rows
SELECT id, BM25_SIMILARITY(text, 'the quick fox') AS s FROM dataset
=> id: r.id
=> s: bm25([s.text for s in rows()], 'the quick fox')[r.id]

-- the texts that match best
SELECT id FROM dataset ORDER BY BM25_SIMILARITY(text, 'Fox cat') DESC, id LIMIT 7
=> rows sorted(rows, key=lambda r: (-bm25([s.text for s in rows], 'Fox cat')[r.id], r.id))[:7]
=> id: r.id

-- BM25 with a condition, accents and a parameter
SELECT id, BM25_SIMILARITY(text, $words) AS s FROM dataset WHERE BM25_SIMILARITY(text, $words) > 0 AND flag
=> params {"words": "CAFÉ dog"}
=> where r.flag and bm25([s.text for s in rows()], 'café dog')[r.id] > 0
=> id: r.id
=> s: bm25([s.text for s in rows()], 'café dog')[r.id]

-- BM25 of a nullable column leaves nulls out of the collection
SELECT id, BM25_SIMILARITY(note, 'note 3') AS s FROM dataset
=> id: r.id
=> s: bm25([s.note for s in rows()], 'note 3')[r.id]

-- BM25 by groups
SELECT label, MAX(BM25_SIMILARITY(text, 'fox')) AS m FROM dataset GROUP BY label ORDER BY label
=> rows CLASSES
=> label: r
=> m: max(v for v, s in zip(bm25([s.text for s in rows()], 'fox'), rows()) if s.label == r)

-- BM25 of words that no text has
SELECT id FROM dataset WHERE BM25_SIMILARITY(text, 'zebra') <> 0
=> where False
=> id: r.id

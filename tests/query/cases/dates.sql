-- parts of a moment
SELECT YEAR(time) AS y, MONTH(time) AS m, DAY(time) AS d, HOUR(time) AS h, MINUTE(time) AS i, DAYOFWEEK(time) AS w FROM dataset

-- EXTRACT
SELECT EXTRACT(YEAR FROM time) AS y, EXTRACT(DOW FROM time) AS d, EXTRACT(WEEK FROM time) AS w, EXTRACT(EPOCH FROM time) AS e FROM dataset

-- DATE_PART and DATE_TRUNC
SELECT DATE_PART('month', time) AS m, DATE_TRUNC('month', time) AS t FROM dataset

-- date and timestamp literals
SELECT id FROM dataset WHERE time >= DATE '2024-03-01' AND time < TIMESTAMP '2024-04-01 12:00:00'

-- intervals
SELECT time + INTERVAL 1 DAY AS a, time - INTERVAL '2 hours' AS b, time + INTERVAL '1' MONTH AS c FROM dataset

-- differences of moments
SELECT time - TIMESTAMP '2024-01-01' AS a, DATE_DIFF('day', DATE '2024-01-01', time) AS b FROM dataset

-- moments within an interval of one another
SELECT a.id AS x, b.id AS y FROM dataset AS a JOIN dataset AS b ON b.time > a.time AND b.time - a.time < INTERVAL 8 DAY WHERE a.id < 5

-- a cast to a date
SELECT CAST(time AS DATE) AS d FROM dataset

-- groups by month
SELECT MONTH(time) AS m, COUNT(*) AS c, MIN(time) AS a, MAX(time) AS b FROM dataset GROUP BY MONTH(time) ORDER BY m

-- moments sort
SELECT id FROM dataset ORDER BY time DESC LIMIT 5

-- formatted moments
SELECT STRFTIME(time, '%Y/%m/%d') AS a, STRPTIME('2024-05-01', '%Y-%m-%d') AS b FROM dataset WHERE id < 3

-- moments between texts
SELECT id FROM dataset WHERE time BETWEEN '2024-02-01' AND '2024-03-01'

-- moments by a parameter
SELECT id FROM dataset WHERE time > ?
=> params [datetime(2025, 1, 1)]

-- the name of a day
SELECT DAYNAME(time) AS d, MONTHNAME(time) AS m, LAST_DAY(time) AS l FROM dataset WHERE id < 9

-- made dates
SELECT MAKE_DATE(2024, 2, 29) AS a, DATE '2024-02-29' + INTERVAL 1 YEAR AS b LIMIT 1

-- moments in milliseconds
SELECT EPOCH_MS(time) AS a FROM dataset WHERE id < 3

-- a moment in CASE
SELECT id, CASE WHEN time < '2024-06-01' THEN 'early' ELSE 'late' END AS c FROM dataset

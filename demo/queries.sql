CREATE TABLE lock(id INTEGER PRIMARY KEY, canal TEXT, rise REAL, built INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
INSERT INTO lock SELECT i, 'canal ' || (i * 7919 % 23), (i * 104729 % 997) / 100.0, 1700 + i * 31 % 200 FROM n;
CREATE TABLE passage(lock INTEGER REFERENCES lock(id), day INTEGER, boats INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)
INSERT INTO passage SELECT i * 6271 % 3000 + 1, i % 365, i * 40503 % 17 FROM n;
CREATE INDEX passage_lock ON passage(lock);
SELECT canal, count(*), round(sum(rise), 3), min(built), max(built) FROM lock GROUP BY canal ORDER BY canal;
SELECT canal, sum(boats) AS total, round(avg(rise), 4) FROM lock JOIN passage ON lock = id WHERE day BETWEEN 90 AND 270
  GROUP BY canal HAVING total > 900 ORDER BY total DESC, canal;
CREATE VIRTUAL TABLE note USING fts5(body);
INSERT INTO note SELECT canal || ' lock ' || id || CASE id % 3 WHEN 0 THEN ' leaks' WHEN 1 THEN ' holds' ELSE ' rusts' END FROM lock;
SELECT rowid, body FROM note WHERE note MATCH 'canal AND leaks' ORDER BY rank, rowid LIMIT 20;
SELECT group_concat(name, ','), hex(zeroblob(4)), printf('%.12e', exp(1) * pi()) FROM (SELECT name FROM sqlite_schema ORDER BY name);
SELECT json_group_array(json_object('id', id, 'canal', canal)) FROM lock WHERE id % 500 = 0;
PRAGMA integrity_check;

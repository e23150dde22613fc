-- Land use as polygons, places as points, rasters as arrays, made the same everywhere: of the size that the variable says (1: a full run).
SELECT setseed(0.2000);
CREATE TABLE landuse AS
    SELECT i AS id, i % 17 AS kind,
        (SELECT polygon(('(' || string_agg(format('(%s,%s)', round((x + r * (0.6 + 0.4 * abs(sin(k * 1.7 + i))) * cos(k * pi() / 23))::numeric, 3),
            round((y + r * (0.6 + 0.4 * abs(sin(k * 1.7 + i))) * sin(k * pi() / 23))::numeric, 3)), ',' ORDER BY k) || ')')::path) FROM generate_series(0, 45) k) AS shape
    FROM (SELECT i, random() * 1000 AS x, random() * 1000 AS y, 1 + random() * 8 AS r FROM generate_series(1, (93607 * :size)::integer) i) AS places;
CREATE TABLE places AS SELECT i AS id, point(random() * 1000, random() * 1000) AS at FROM generate_series(1, (400 * :size)::integer) i;
CREATE TABLE views AS SELECT i AS id, box(point(x, y), point(x + 50, y + 50)) AS rectangle, circle(point(x, y), 300) AS surrounding
    FROM (SELECT i, random() * 950 AS x, random() * 950 AS y FROM generate_series(1, greatest((100 * :size)::integer, 4)) i) AS corners;
CREATE TABLE rasters AS SELECT i AS id, (SELECT array_agg(random() * 100) FROM generate_series(1, 500 + 0 * i)) AS cells FROM generate_series(1, (2000 * :size)::integer) i;
CREATE TABLE texts AS SELECT i AS id, repeat('what a sea of words ' || i || ' ', 40) AS text FROM generate_series(1, (20000 * :size)::integer) i;
CREATE TABLE numbers AS SELECT generate_series(1, (1000000 * :size)::integer) AS i;
ALTER TABLE texts ALTER text SET STORAGE EXTERNAL;
VACUUM ANALYZE;

-- Composite values, functions that return sets, aggregates.
SELECT lockgate.install_module('rows', pg_read_binary_file(:'modules' || '/rows.lg'));
SET ROLE :user;
CREATE TYPE place AS (id integer, name text, at point, open boolean);
CREATE FUNCTION describe(place) RETURNS text LANGUAGE lgc AS 'rows.describe' STRICT;
CREATE FUNCTION moved(place, double precision) RETURNS place LANGUAGE lgc AS 'rows.moved' STRICT;
SELECT describe((1, 'grün', point '(2,3)', true)), describe((NULL, NULL, NULL, NULL)), describe((7, '', NULL, false));
SELECT moved((1, 'grün', point '(2,3)', true), 0.5), (moved((1, NULL, NULL, NULL), 4)).*;
CREATE FUNCTION shut(place) RETURNS place LANGUAGE lgc AS 'rows.shut' STRICT;
SELECT shut((1, 'there', point '(2,3)', true)), (shut((1, 'there', point '(2,3)', true))).open;
SELECT describe(moved(moved((1, 'there', point '(2,3)', true), 1), 1));
CREATE TABLE places OF place;
INSERT INTO places SELECT i, 'place ' || i, point(i, i), i % 2 = 0 FROM generate_series(1, 3) i;
SELECT describe(places) FROM places;
CREATE TABLE wide (gone integer, id integer, name text, at point, open boolean);
INSERT INTO wide VALUES (0, 1, 'one', '(1,1)', true);
CREATE FUNCTION nowhere(bigint) RETURNS place LANGUAGE lgc AS 'rows.nowhere' STRICT;
SELECT nowhere(8);
-- Types whose constraints nobody would check, and types that there are not in C.
CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
CREATE TYPE constrained AS (id positive, name text, at point, open boolean);
CREATE FUNCTION bad() RETURNS positive LANGUAGE lgc AS 'rows.x';
CREATE FUNCTION bad() RETURNS constrained LANGUAGE lgc AS 'rows.x';
CREATE FUNCTION bad() RETURNS SETOF positive LANGUAGE lgc AS 'rows.x';
CREATE FUNCTION bad() RETURNS TABLE (a inet) LANGUAGE lgc AS 'rows.x';
CREATE FUNCTION fine(constrained) RETURNS text LANGUAGE lgc AS 'rows.describe';

-- Sets.
CREATE FUNCTION series(integer, integer) RETURNS SETOF integer LANGUAGE lgc AS 'rows.series' STRICT;
CREATE FUNCTION words(text) RETURNS TABLE (at integer, word text) LANGUAGE lgc AS 'rows.words' STRICT;
CREATE FUNCTION places(integer) RETURNS SETOF place LANGUAGE lgc AS 'rows.places' STRICT;
SELECT * FROM series(3, 7);
SELECT series(1, 3), series(1, 2);
SELECT count(*), sum(s) FROM series(1, 200000) s;
SELECT * FROM words('what  a sea of wörds');
SELECT w.word FROM (VALUES ('a b'), ('c')) AS texts (t), LATERAL words(t) w ORDER BY 1;
SELECT * FROM places(3);
SELECT (places(2)).name;
SELECT * FROM series(1, 0);
SELECT * FROM series(NULL, 1);
SELECT * FROM words('a b') WITH ORDINALITY LIMIT 1;
CREATE FUNCTION bad_rows(integer) RETURNS TABLE (at integer, word text) LANGUAGE lgc AS 'rows.bad_rows' STRICT;
SELECT * FROM bad_rows(0);
SELECT * FROM bad_rows(1);
SELECT * FROM bad_rows(2);
SELECT * FROM bad_rows(3);
SELECT * FROM bad_rows(4);
SELECT * FROM bad_rows(5);
SET statement_timeout = '400ms';
SELECT * FROM bad_rows(6);
RESET statement_timeout;
CREATE FUNCTION emits_nowhere(integer) RETURNS integer LANGUAGE lgc AS 'rows.emits_nowhere' STRICT;
SELECT emits_nowhere(1);
-- A set of other rows than the module makes.
CREATE FUNCTION mistaken(text) RETURNS TABLE (at integer, word bigint) LANGUAGE lgc AS 'rows.words' STRICT;
SELECT * FROM mistaken('a');
SELECT * FROM words('still here');

-- Aggregates.
CREATE FUNCTION deviation_step(lockgate.state, double precision) RETURNS lockgate.state LANGUAGE lgc AS 'rows.deviation_step';
CREATE FUNCTION deviation_result(lockgate.state) RETURNS double precision LANGUAGE lgc AS 'rows.deviation_result';
CREATE AGGREGATE deviation(double precision) (SFUNC = deviation_step, STYPE = lockgate.state, FINALFUNC = deviation_result);
CREATE FUNCTION longest_step(lockgate.state, text) RETURNS lockgate.state LANGUAGE lgc AS 'rows.longest_step';
CREATE FUNCTION longest_result(lockgate.state) RETURNS text LANGUAGE lgc AS 'rows.longest_result';
CREATE AGGREGATE longest(text) (SFUNC = longest_step, STYPE = lockgate.state, FINALFUNC = longest_result);
SELECT round(deviation(i)::numeric, 9) = round(stddev(i)::numeric, 9), deviation(i) FILTER (WHERE i < 2) IS NULL FROM generate_series(1, 1000) i;
SELECT count(*), bool_and(abs(lgc - plain) < 1e-9) FROM (SELECT deviation(i) AS lgc, stddev(i::double precision) AS plain FROM generate_series(1, 30000) i GROUP BY i % 3000) s;
SELECT longest(repeat('x', i % 77)), longest('grün') FROM generate_series(1, 200) i;
SELECT longest(text) FROM (SELECT 'none' AS text WHERE false) nothing;
SELECT i, round(deviation(i) OVER (ORDER BY i ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)::numeric, 3) FROM generate_series(1, 5) i;
SET enable_hashagg = off;
SELECT i % 3, round(deviation(i)::numeric, 3) FROM generate_series(1, 30) i GROUP BY 1 ORDER BY 1;
RESET enable_hashagg;
-- States are nobody's but the aggregate's.
SELECT deviation_result(deviation_step(NULL, 1));
SELECT 'x'::lockgate.state;
CREATE FUNCTION state_outside(integer) RETURNS integer LANGUAGE lgc AS 'rows.state_outside';
SELECT state_outside(8);
CREATE FUNCTION stray_step(lockgate.state, double precision) RETURNS lockgate.state LANGUAGE lgc AS 'rows.stray_step';
CREATE FUNCTION stray_result(lockgate.state) RETURNS double precision LANGUAGE lgc AS 'rows.stray_result';
CREATE AGGREGATE stray(double precision) (SFUNC = stray_step, STYPE = lockgate.state, FINALFUNC = stray_result);
SELECT stray(8);
SELECT stray_step(NULL, 140000000000000);
-- Kept beyond its aggregate it is lost, whatever the plan, and whatever has its place meanwhile.
CREATE AGGREGATE raw(double precision) (SFUNC = deviation_step, STYPE = lockgate.state);
CREATE TEMPORARY TABLE m AS SELECT x % 3 AS g, x::double precision AS v FROM generate_series(1, 30) x;
SELECT deviation_result(raw(v)) FROM m;
SET enable_hashagg = off;
SELECT g, deviation_result(s) FROM (SELECT g, raw(v) AS s FROM m GROUP BY g OFFSET 0) q ORDER BY g DESC;
RESET enable_hashagg;
SET enable_sort = off;
SELECT g, deviation_result(s) FROM (SELECT g, raw(v) AS s FROM m GROUP BY g OFFSET 0) q;
RESET enable_sort;
CREATE TEMPORARY TABLE kept AS SELECT raw(v) AS s FROM m;
BEGIN;
DECLARE c CURSOR FOR SELECT round(deviation(v) OVER (ORDER BY v)::numeric, 3) FROM m;
FETCH 2 FROM c;
SAVEPOINT before;
SELECT deviation_result(s) FROM kept;
ROLLBACK TO before;
SELECT deviation_step(s, 1) FROM kept;
ROLLBACK TO before;
-- (What is going on goes on.)
FETCH 2 FROM c;
COMMIT;
-- A state that another function gives an aggregate for its own: with one under way beside it, and with none.
CREATE FUNCTION from_elsewhere(lockgate.state, lockgate.state) RETURNS lockgate.state LANGUAGE sql AS 'SELECT $2';
CREATE AGGREGATE elsewhere(lockgate.state) (SFUNC = from_elsewhere, STYPE = lockgate.state, FINALFUNC = deviation_result);
SELECT elsewhere(s) FROM kept;
SELECT elsewhere(raw), deviation(1) FROM (SELECT raw(v) FROM m OFFSET 0) q;
CREATE FUNCTION two_states(lockgate.state, lockgate.state) RETURNS lockgate.state LANGUAGE lgc AS 'rows.both';
CREATE AGGREGATE either(lockgate.state) (SFUNC = two_states, STYPE = lockgate.state, FINALFUNC = deviation_result);
SELECT either(s) FROM kept;
-- Nor in a row.
CREATE TYPE with_state AS (s lockgate.state);
CREATE FUNCTION of_row(with_state) RETURNS text LANGUAGE lgc AS 'rows.describe';
CREATE FUNCTION of_rows() RETURNS TABLE (a integer, s lockgate.state) LANGUAGE lgc AS 'rows.words';
-- All ways to compute it that there are.
SELECT g, round(deviation(v)::numeric, 3), round(deviation(v ORDER BY v DESC)::numeric, 3), round(deviation(DISTINCT v)::numeric, 3) FROM m GROUP BY ROLLUP (g) ORDER BY g;
SET enable_sort = off;
SELECT g, v < 10, round(deviation(v)::numeric, 3) FROM m GROUP BY CUBE (g, v < 10) ORDER BY 1, 2;
RESET enable_sort;
CREATE FUNCTION greedy_step(lockgate.state, double precision) RETURNS lockgate.state LANGUAGE lgc AS 'rows.greedy_step';
CREATE FUNCTION no_result(lockgate.state) RETURNS double precision LANGUAGE lgc AS 'rows.no_result';
CREATE AGGREGATE greedy(double precision) (SFUNC = greedy_step, STYPE = lockgate.state, FINALFUNC = no_result);
SELECT greedy(i) FROM generate_series(1, 100) i;
SELECT greedy(i) FROM generate_series(1, 10) i;
SELECT greedy(i) FROM generate_series(1, 50) i;
SELECT greedy(i) FROM generate_series(1, 50) i;
SELECT round(deviation(i)::numeric, 3) FROM generate_series(1, 10) i;

-- Row types that change under a function that has been called already.
CREATE TYPE changing AS (number bigint, word text);
CREATE FUNCTION number_of(changing) RETURNS text LANGUAGE lgc AS 'rows.changing_word';
CREATE FUNCTION changed(bigint) RETURNS changing LANGUAGE lgc AS 'rows.changing';
DO $$
DECLARE
    v changing;
    t text;
BEGIN
    FOR i IN 1..2 LOOP
        v := CASE i WHEN 1 THEN (0, 'fine')::changing END;
        IF i = 2 THEN
            EXECUTE 'SELECT 1, 1000000' INTO v;
        END IF;
        BEGIN
            t := number_of(v);
            RAISE NOTICE '%', t;
        EXCEPTION WHEN OTHERS THEN
            RAISE NOTICE '% %', SQLSTATE, SQLERRM;
        END;
        IF i = 1 THEN
            ALTER TYPE changing DROP ATTRIBUTE word;
            ALTER TYPE changing ADD ATTRIBUTE word bigint;
        END IF;
    END LOOP;
END $$;
SELECT changed(1), number_of((1, 2));
CREATE FUNCTION changes_it(bigint) RETURNS changing LANGUAGE lgc AS 'rows.changes_it';
SELECT changes_it(1);
-- Lengths of columns hold in rows that functions return.
CREATE TYPE short AS (number bigint, word varchar(3));
CREATE FUNCTION short(bigint) RETURNS short LANGUAGE lgc AS 'rows.changing';
SELECT short(1);
CREATE TYPE long AS (number bigint, word char(6));
CREATE FUNCTION long(bigint) RETURNS SETOF long LANGUAGE lgc AS 'rows.series_of_changing';
SELECT word || '|' FROM long(2);

-- Records: the call says what columns there are.
CREATE FUNCTION any_words(text) RETURNS SETOF record LANGUAGE lgc AS 'rows.words' STRICT;
CREATE FUNCTION any_row(bigint) RETURNS record LANGUAGE lgc AS 'rows.changing' STRICT;
SELECT * FROM any_words('a b') AS t (at integer, word text);
SELECT * FROM any_words('a b') AS t (number integer, long bytea);
SELECT * FROM any_words('a b') AS t (at integer);
SELECT * FROM any_words('a b') AS t (at integer, word inet);
SELECT * FROM any_words('a b');
SELECT * FROM any_row(7) AS t (number bigint, word varchar);
SELECT any_row(7);
SELECT any_words('a b');

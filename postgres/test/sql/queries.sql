-- Queries from within functions, under the rights of whom they run for.
\pset format unaligned
SELECT lockgate.install_module('queries', pg_read_binary_file(:'modules' || '/queries.lg'));
CREATE TABLE secret AS SELECT 'hidden' AS word;
SET ROLE :user;
CREATE TABLE numbers AS SELECT generate_series(1, 100) AS i;
CREATE FUNCTION ask(text) RETURNS text LANGUAGE lgc AS 'queries.ask' STRICT;
CREATE FUNCTION ask_stable(text) RETURNS text LANGUAGE lgc AS 'queries.ask' STRICT STABLE;
CREATE FUNCTION total(integer) RETURNS bigint LANGUAGE lgc AS 'queries.total' STRICT STABLE;
CREATE FUNCTION add(integer) RETURNS bigint LANGUAGE lgc AS 'queries.add' STRICT;
CREATE FUNCTION misuse(integer) RETURNS integer LANGUAGE lgc AS 'queries.misuse' STRICT;
SELECT ask('SELECT 6 * 7'), ask('SELECT NULL') IS NULL, ask('SELECT 1 WHERE false') IS NULL, length(ask('SELECT repeat(''x'', 1000000)'));
SELECT total(1), total(99), add(1000), total(99);
SELECT total(99);
SELECT sum(length(ask('SELECT ' || i))) FROM generate_series(1, 1000) i;
-- Rights, and what may be changed.
SELECT ask('SELECT word FROM secret');
SELECT ask_stable('INSERT INTO numbers VALUES (1) RETURNING i');
SELECT ask('INSERT INTO numbers VALUES (1) RETURNING i');
SELECT ask('SELECT current_user') = current_user;
-- Functions that call queries that call functions.
SELECT ask('SELECT ask(''SELECT ask(''''SELECT 1 + total(99)'''')'')');
-- Errors, caught and not.
CREATE FUNCTION pg_temp.try(statement text, OUT state text, OUT message text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement INTO message;
    state := '00000';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
END $$;
SELECT i, tried.* FROM generate_series(0, 14) i, pg_temp.try(format('SELECT misuse(%s)', i)) tried;
SELECT misuse(9);
SELECT ask('SELECT message FROM pg_temp.try(''SELECT misuse(9)'')'), ask('SELECT state FROM pg_temp.try(''SELECT misuse(10)'')');
SET statement_timeout = '400ms';
SELECT ask('SELECT pg_sleep(60)');
RESET statement_timeout;
SELECT total(99);
-- Of several statements the last one's rows count, if it has any.
CREATE FUNCTION rows_of(text) RETURNS bigint LANGUAGE lgc AS 'queries.rows_of' STRICT;
SELECT rows_of(statement), statement FROM unnest(ARRAY[
    'SELECT generate_series(1, 7)', 'SELECT generate_series(1, 7); SET work_mem = ''4MB''', 'SELECT 1; SELECT generate_series(1, 7);;',
    'SELECT generate_series(1, 7); CREATE TEMPORARY TABLE t (i integer)', 'SELECT 1; INSERT INTO t VALUES (1), (2)', 'SHOW work_mem',
    'SET work_mem = ''4MB''; SHOW work_mem', 'SELECT 1, 2; DO $do$ BEGIN END $do$', 'EXPLAIN (COSTS off) SELECT 1', 'SELECT 1; SELECT 1 WHERE false',
    'INSERT INTO t VALUES (3) RETURNING i; DELETE FROM t', 'CREATE TEMPORARY TABLE u AS SELECT generate_series(1, 4)', ';;', '']) statement;
SELECT ask('SELECT ''stale''; SET work_mem = ''4MB''');
SELECT rows_of('SELECT 1; SELECT 2 +; SELECT 3');
SELECT rows_of('SELECT 1; SELECT nothing');

-- What a function does wrong is an error of its statement, with a state, a function, a module and a line.
\pset format unaligned
SELECT lockgate.install_module('hostile', pg_read_binary_file(:'modules' || '/hostile.lg'));
SET ROLE :user;
CREATE FUNCTION fine(integer) RETURNS integer LANGUAGE lgc AS 'hostile.fine';
CREATE FUNCTION fault(integer) RETURNS integer LANGUAGE lgc AS 'hostile.fault';
CREATE FUNCTION misuse(integer) RETURNS integer LANGUAGE lgc AS 'hostile.misuse';
CREATE FUNCTION reach(integer) RETURNS integer LANGUAGE lgc AS 'hostile.reach';
CREATE FUNCTION scribble(integer) RETURNS integer LANGUAGE lgc AS 'hostile.scribble';
CREATE FUNCTION poke(bigint) RETURNS bigint LANGUAGE lgc AS 'hostile.poke';
CREATE FUNCTION peek(bigint) RETURNS bigint LANGUAGE lgc AS 'hostile.peek';
CREATE FUNCTION unmap(text) RETURNS integer LANGUAGE lgc AS 'hostile.unmap' STRICT;
CREATE FUNCTION gone(integer) RETURNS text LANGUAGE lgc AS 'hostile.gone' STRICT;

-- Everything that can go wrong in one statement, and the state that it leaves.
CREATE FUNCTION pg_temp.try(statement text, OUT state text, OUT message text, OUT detail text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement INTO message;
    state := '00000';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
END $$;

SELECT i, tried.state, tried.message, fine(i) FROM generate_series(0, 16) i, pg_temp.try(format('SELECT fault(%s)', i)) tried;
SELECT i, tried.state, left(tried.message, 100) FROM generate_series(0, 14) i, pg_temp.try(format('SELECT misuse(%s)', i)) tried;
SELECT i, reach(i) FROM generate_series(0, 12) i;
SELECT state, message, fine(1) FROM pg_temp.try('SELECT scribble(1)');
SELECT (pg_temp.try('SELECT poke(140000000000000)')).state, (pg_temp.try('SELECT peek(0)')).state, fine(2);
SELECT unmap(repeat('x', 10)), unmap(repeat('x', 5000)), fine(3);
SELECT length(gone(4096)), tried.* FROM pg_temp.try('SELECT gone(4097)') tried;

-- Without anybody who catches it.
SELECT fault(1);
\echo :LAST_ERROR_SQLSTATE
SELECT misuse(13);
\echo :LAST_ERROR_SQLSTATE
SELECT fine(1);

-- A fault ends its transaction, or its savepoint.
CREATE TEMP TABLE t (i integer);
BEGIN;
INSERT INTO t VALUES (1);
SELECT fault(0);
SELECT 1;
ROLLBACK;
BEGIN;
INSERT INTO t VALUES (2);
SAVEPOINT s;
INSERT INTO t VALUES (3);
SELECT fault(2);
ROLLBACK TO s;
INSERT INTO t VALUES (fine(3));
COMMIT;
SELECT * FROM t;
-- In the middle of a scan; of a sort; in an index; in a default; in a check.
CREATE TABLE many AS SELECT i FROM generate_series(0, 30) i;
SELECT sum(fault(CASE WHEN i = 20 THEN 2 ELSE i + 100 END)) FROM many;
SELECT i FROM many ORDER BY fault(CASE WHEN i = 10 THEN 1 ELSE i + 100 END);
CREATE FUNCTION index_of(integer) RETURNS integer LANGUAGE lgc AS 'hostile.fault' IMMUTABLE;
CREATE INDEX ON many (index_of(CASE WHEN i = 5 THEN 4 ELSE 100 END));
CREATE INDEX by_fine ON many (index_of(i + 100));
SET enable_seqscan = off;
SELECT i FROM many WHERE index_of(i + 100) = 110;
RESET enable_seqscan;
ALTER TABLE many ADD CHECK (fine(i) > 0);
INSERT INTO many VALUES (-5);
-- Prepared, more than once.
PREPARE p AS SELECT fault($1), fine($1);
EXECUTE p(100);
EXECUTE p(3);
EXECUTE p(101);

-- Limits.
SET lockgate.memory_limit = '1GB';
RESET ROLE;
SELECT current_setting('lockgate.memory_limit'), current_setting('lockgate.cpu_limit');
CREATE FUNCTION forever(integer) RETURNS integer LANGUAGE lgc AS 'hostile.forever';
SET lockgate.cpu_limit = '50ms';
SELECT forever(0);
\echo :LAST_ERROR_SQLSTATE
SELECT fine(7);
BEGIN;
SAVEPOINT s;
SELECT forever(1);
ROLLBACK TO s;
SELECT fine(8);
ROLLBACK TO s;
SELECT unmap(repeat('what it cannot look at', 5000));
ROLLBACK;
-- A crash gives nothing back: the next domain of the transaction has what is left.
CREATE FUNCTION burn(integer) RETURNS integer LANGUAGE lgc AS 'hostile.burn';
SET lockgate.cpu_limit = '300ms';
DO $$
DECLARE
    crashes integer := 0;
BEGIN
    WHILE crashes < 100 LOOP
        BEGIN
            PERFORM burn(20);
        EXCEPTION WHEN external_routine_exception THEN
            crashes := crashes + 1;
        END;
    END LOOP;
    RAISE EXCEPTION '100 crashes, and time for more';
EXCEPTION WHEN configuration_limit_exceeded THEN
    RAISE NOTICE 'the limit holds: %', crashes < 100;
END
$$;
SELECT fine(9);
DROP FUNCTION burn(integer);
RESET lockgate.cpu_limit;
SET statement_timeout = '400ms';
SELECT forever(0);
SELECT forever(1);
SELECT forever(2);
SELECT forever(3);
SELECT forever(4);
SELECT forever(5);
\echo :LAST_ERROR_SQLSTATE
RESET statement_timeout;
SET lockgate.memory_limit = '2MB';
SELECT fine(9);
SET lockgate.memory_limit = '1MB';
SELECT fine(9);
RESET lockgate.memory_limit;

-- Roles share nothing.
CREATE FUNCTION remember(text) RETURNS void LANGUAGE lgc AS 'hostile.remember' STRICT;
CREATE FUNCTION recall() RETURNS text LANGUAGE lgc AS 'hostile.recall';
SET ROLE :owner;
SELECT remember('the owner''s');
SELECT recall();
CREATE FUNCTION recall_as_owner() RETURNS text LANGUAGE lgc AS 'hostile.recall' SECURITY DEFINER;
SET ROLE :user;
SELECT recall(), recall_as_owner();
SELECT remember('the user''s');
SET ROLE :owner;
SELECT recall();
SET ROLE :user;
SELECT recall();
-- In one place of a plan, and within one statement, too.
DO $$
DECLARE
    seen text;
BEGIN
    FOR i IN 1..2 LOOP
        IF i = 2 THEN
            EXECUTE format('SET LOCAL ROLE %I', replace(current_user, '_user', ''));
        END IF;
        seen := recall();
        RAISE NOTICE '%', seen;
    END LOOP;
END $$;
CREATE FUNCTION recall_as_user() RETURNS text LANGUAGE lgc AS 'hostile.recall' SECURITY DEFINER;
SET ROLE :owner;
SELECT recall(), recall_as_user(), recall(), recall_as_owner();

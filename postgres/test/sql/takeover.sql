-- What the schema's owner may try, who is no superuser.
\pset format unaligned
ALTER SCHEMA lockgate OWNER TO :owner;
SELECT lockgate.install_module('types', pg_read_binary_file(:'modules' || '/types.lg'));
SET ROLE :owner;
CREATE FUNCTION same(bigint) RETURNS bigint LANGUAGE lgc AS 'types.same_int8' STRICT;
SELECT same(1);
CREATE TABLE copied AS SELECT * FROM lockgate.module;
ALTER SCHEMA lockgate RENAME TO hidden;
SELECT same(2);
CREATE SCHEMA lockgate;
SELECT same(3);
-- Tables of other shapes, whose values would be taken for what they are not.
CREATE TABLE lockgate.module (name integer PRIMARY KEY, owner text, hash bigint, installed text, image bigint);
INSERT INTO lockgate.module VALUES (1, '', 4702111234474983745, '', 4702111234474983745);
SELECT same(4);
DROP TABLE lockgate.module;
CREATE VIEW lockgate.module AS SELECT * FROM copied;
SELECT same(5);
DROP VIEW lockgate.module;
CREATE SEQUENCE lockgate.module;
SELECT same(6);
DROP SEQUENCE lockgate.module;
CREATE TYPE lockgate.module AS (name text);
SELECT same(7);
DROP TYPE lockgate.module;
ALTER TABLE copied RENAME TO module;
ALTER TABLE module SET SCHEMA lockgate;
SELECT same(8);
SELECT hidden.install_module('more', '');
SELECT hidden.drop_module('types');
-- A type in the place of lockgate.state, whose values are not passed as its are.
SET check_function_bodies = off;
CREATE TYPE lockgate.state AS ENUM ('a', 'b');
CREATE FUNCTION f(bigint) RETURNS lockgate.state LANGUAGE lgc AS 'types.same_int8';
DROP TYPE lockgate.state;
CREATE TYPE lockgate.state AS RANGE (SUBTYPE = bigint);
CREATE FUNCTION f(lockgate.state) RETURNS bigint LANGUAGE lgc AS 'types.same_int8';
RESET check_function_bodies;
DROP SCHEMA lockgate CASCADE;
ALTER SCHEMA hidden RENAME TO lockgate;
SELECT same(9);
-- Modules that he writes into the table himself, as a dump does: every call verifies what it finds.
CREATE FUNCTION answer(bigint) RETURNS bigint LANGUAGE lgc AS 'types.same_int8';
INSERT INTO lockgate.module SELECT 'false', 'postgres'::regrole, sha256('\x00'), now(), '\x00';
-- (A hash is that of its image, and a name is one.)
\set VERBOSITY terse
INSERT INTO lockgate.module SELECT 'short', 'postgres'::regrole, '\x00', now(), '\x00';
INSERT INTO lockgate.module SELECT 'other', 'postgres'::regrole, sha256('\x00'), now(), image FROM lockgate.module WHERE name = 'types';
INSERT INTO lockgate.module SELECT E'\x1b[31m', 'postgres'::regrole, hash, now(), image FROM lockgate.module WHERE name = 'types';
\set VERBOSITY default
CREATE FUNCTION f(bigint) RETURNS bigint LANGUAGE lgc AS 'false.same_int8';
CREATE FUNCTION f(bigint) RETURNS bigint LANGUAGE lgc AS 'short.same_int8';
CREATE FUNCTION f(bigint) RETURNS bigint LANGUAGE lgc AS 'other.same_int8';
SELECT same(12);
UPDATE lockgate.module SET hash = '';
DELETE FROM lockgate.module;
-- What others write is noticed at once.
RESET ROLE;
UPDATE lockgate.module SET name = 'renamed' WHERE name = 'types';
SELECT same(13);
UPDATE lockgate.module SET name = 'types' WHERE name = 'renamed';
SELECT same(14);
BEGIN;
TRUNCATE lockgate.module;
SELECT same(15);
ROLLBACK;
BEGIN READ ONLY;
SELECT lockgate.install_module('more', pg_read_binary_file(:'modules' || '/types.lg'));
ROLLBACK;
BEGIN READ ONLY;
SELECT lockgate.drop_module('other');
ROLLBACK;
SELECT same(16);

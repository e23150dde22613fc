-- Who may install, replace and drop modules, and what depends on them.
GRANT pg_read_server_files TO :user, :owner;
GRANT EXECUTE ON FUNCTION pg_read_binary_file(text) TO :user, :owner;

SET ROLE :user;
-- An ordinary role may not,
SELECT lockgate.install_module('mine', pg_read_binary_file(:'modules' || '/types.lg'));
SELECT lockgate.drop_module('mine');
INSERT INTO lockgate.module VALUES ('mine', current_user::regrole, '', now(), '');
SELECT image FROM lockgate.module;
-- the database's owner may, and may let others.
SET ROLE :owner;
SELECT lockgate.install_module('types', pg_read_binary_file(:'modules' || '/types.lg'));
GRANT EXECUTE ON FUNCTION lockgate.install_module, lockgate.drop_module TO :user;
SET ROLE :user;
SELECT lockgate.install_module('mine', pg_read_binary_file(:'modules' || '/types.lg'));
SELECT name, owner = current_user::regrole AS mine, size > 10000 AS large, length(hash) FROM lockgate.modules ORDER BY name;
SELECT * FROM lockgate.module_functions('mine') WHERE function IN ('same_int4', 'same_text', 'area', 'count') ORDER BY function;
SELECT * FROM lockgate.module_functions('nothing');

-- Names, and what is no module.
SELECT lockgate.install_module('types', pg_read_binary_file(:'modules' || '/types.lg'));
SELECT lockgate.install_module('types', pg_read_binary_file(:'modules' || '/types.lg'), replace => true);
SELECT lockgate.install_module('a.b', pg_read_binary_file(:'modules' || '/types.lg'));
SELECT lockgate.install_module('', pg_read_binary_file(:'modules' || '/types.lg'));
SELECT lockgate.install_module('grün', pg_read_binary_file(:'modules' || '/types.lg'));
SELECT lockgate.install_module(repeat('x', 64), pg_read_binary_file(:'modules' || '/types.lg'));
SELECT lockgate.install_module('bad', '\x00010203');
SELECT lockgate.install_module('bad', '');
SELECT lockgate.install_module('bad', pg_read_binary_file(:'modules' || '/stranger.lg'));
-- (A module with a system call in it: not one of ours, and refused by the verifier.)
SELECT lockgate.install_module('bad', pg_read_binary_file(:'modules' || '/forged.lg'));
SELECT lockgate.drop_module('bad');
-- (What somebody calls a module is shown shortened, without what a terminal obeys.)
SELECT lockgate.install_module(E'\n\x1b[31m', '');
SELECT lockgate.drop_module(E'\x1b[31m');
SELECT lockgate.module_functions(repeat('x', 10000000));
CREATE FUNCTION f(integer) RETURNS integer LANGUAGE lgc AS E'mine.\x1b[31m';
CREATE FUNCTION f(integer) RETURNS integer LANGUAGE lgc AS E'\x1b[31m.same_int4';

-- What CREATE FUNCTION checks.
CREATE FUNCTION f(integer) RETURNS integer LANGUAGE lgc AS 'mine';
CREATE FUNCTION f(integer) RETURNS integer LANGUAGE lgc AS 'mine.';
CREATE FUNCTION f(integer) RETURNS integer LANGUAGE lgc AS '.same_int4';
CREATE FUNCTION f(integer) RETURNS integer LANGUAGE lgc AS 'nothing.same_int4';
CREATE FUNCTION f(integer) RETURNS integer LANGUAGE lgc AS 'mine.nothing';
CREATE FUNCTION f(integer) RETURNS integer LANGUAGE lgc AS 'mine._lg_init';
CREATE FUNCTION f(integer) RETURNS integer LANGUAGE lgc AS 'mine.same_int8';
CREATE FUNCTION f(text) RETURNS text LANGUAGE lgc AS 'mine.same_bytea';
CREATE FUNCTION f(polygon) RETURNS polygon LANGUAGE lgc AS 'mine.same_path';
CREATE FUNCTION f(integer, integer) RETURNS integer LANGUAGE lgc AS 'mine.same_int4';
CREATE FUNCTION f() RETURNS integer LANGUAGE lgc AS 'mine.same_int4';
CREATE FUNCTION f(inet) RETURNS integer LANGUAGE lgc AS 'mine.same_int4';
CREATE FUNCTION f(integer) RETURNS regclass LANGUAGE lgc AS 'mine.same_int4';
CREATE FUNCTION f(text[]) RETURNS integer LANGUAGE lgc AS 'mine.same_int4';
CREATE FUNCTION f(internal) RETURNS integer LANGUAGE lgc AS 'mine.same_int4';
CREATE FUNCTION f(anyelement) RETURNS anyelement LANGUAGE lgc AS 'mine.same_int4';
CREATE FUNCTION f(integer) RETURNS SETOF integer LANGUAGE lgc AS 'mine.same_int4';
CREATE FUNCTION f() RETURNS trigger LANGUAGE lgc AS 'mine.count';
CREATE PROCEDURE f(integer) LANGUAGE lgc AS 'mine.same_int4';
CREATE FUNCTION f(integer) RETURNS integer LANGUAGE lgc AS 'mine.same_int4';
SELECT f(3);
-- (Two strings as in language C, once the library is loaded.)
CREATE FUNCTION two(integer) RETURNS integer LANGUAGE lgc AS 'mine', 'same_int4';
SELECT two(3), prosrc FROM pg_proc WHERE proname = 'two';
DROP FUNCTION two(integer);

-- Unchecked, as in a dump that is being restored: then the call checks.
SET check_function_bodies = off;
CREATE FUNCTION unchecked(bigint) RETURNS text LANGUAGE lgc AS 'mine.same_int4';
CREATE FUNCTION unchecked(text) RETURNS text LANGUAGE lgc AS 'mine.same_bytea';
CREATE FUNCTION unchecked() RETURNS integer LANGUAGE lgc AS 'later.f';
CREATE FUNCTION unchecked(inet) RETURNS integer LANGUAGE lgc AS 'mine.f';
RESET check_function_bodies;
SELECT unchecked(3::bigint);
SELECT unchecked('abc'::text);
SELECT unchecked();
DROP FUNCTION unchecked(bigint), unchecked(text), unchecked();

-- What uses a module keeps it.
SELECT lockgate.drop_module('mine');
SELECT lockgate.install_module('mine', pg_read_binary_file(:'modules' || '/hostile.lg'), replace => true);
SELECT lockgate.install_module('mine', pg_read_binary_file(:'modules' || '/types.lg'), replace => true);
SELECT f(4);
BEGIN;
DROP FUNCTION f(integer);
SELECT lockgate.drop_module('mine');
SELECT name FROM lockgate.modules WHERE name = 'mine';
ROLLBACK;
SELECT f(5);
SET ROLE :owner;
-- The database's owner may change what others have installed; the owner of a module stays.
SELECT lockgate.install_module('mine', pg_read_binary_file(:'modules' || '/types.lg'), replace => true);
SELECT owner::text LIKE '%_user' FROM lockgate.modules WHERE name = 'mine';
SET ROLE :user;
-- Others' modules may be used, not changed.
CREATE FUNCTION g(integer) RETURNS integer LANGUAGE lgc AS 'types.same_int4';
SELECT g(6);
SELECT lockgate.drop_module('types');
-- Nor does using them keep them: anybody can make a function, and a row type that no module fits.
CREATE TYPE of_mine AS (a integer);
SET check_function_bodies = off;
CREATE FUNCTION unfit() RETURNS of_mine LANGUAGE lgc AS 'types.no_such_function';
SET ROLE :owner;
CREATE FUNCTION owners_unfit() RETURNS of_mine LANGUAGE lgc AS 'types.no_such_function';
SET ROLE :user;
RESET check_function_bodies;
ALTER TYPE of_mine ADD ATTRIBUTE b xml;
SELECT unfit();
SET ROLE :owner;
BEGIN;
SELECT lockgate.install_module('types', pg_read_binary_file(:'modules' || '/hostile.lg'), replace => true);
ROLLBACK;
SELECT lockgate.install_module('types', pg_read_binary_file(:'modules' || '/types.lg'), replace => true);
SELECT lockgate.drop_module('types');
DROP FUNCTION owners_unfit();
BEGIN;
SELECT lockgate.drop_module('types');
ROLLBACK;
SET ROLE :user;
SELECT g(6);
DROP FUNCTION unfit();
DROP TYPE of_mine;
DROP FUNCTION f(integer);
SELECT lockgate.drop_module('mine');
SELECT name FROM lockgate.modules ORDER BY name;

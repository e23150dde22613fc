-- Functions of triggers.
\pset format unaligned
SELECT lockgate.install_module('triggers', pg_read_binary_file(:'modules' || '/triggers.lg'));
SET ROLE :user;
CREATE TABLE items (id integer, gone text, name varchar(8), price numeric(6,2), place inet, stamp timestamptz);
ALTER TABLE items DROP COLUMN gone;
CREATE FUNCTION tell() RETURNS trigger LANGUAGE lgc AS 'triggers.tell';
CREATE FUNCTION change() RETURNS trigger LANGUAGE lgc AS 'triggers.change';
CREATE FUNCTION archive() RETURNS trigger LANGUAGE lgc AS 'triggers.archive';
CREATE FUNCTION count_new() RETURNS trigger LANGUAGE lgc AS 'triggers.count_new';
CREATE FUNCTION bad() RETURNS trigger LANGUAGE lgc AS 'triggers.bad';
SELECT * FROM lockgate.module_functions('triggers') ORDER BY function;
SELECT tell();
CREATE FUNCTION f() RETURNS trigger LANGUAGE lgc AS 'triggers.nothing';
CREATE FUNCTION f() RETURNS event_trigger LANGUAGE lgc AS 'triggers.tell';
CREATE FUNCTION f() RETURNS integer LANGUAGE lgc AS 'triggers.tell';

-- What they are told.
CREATE TRIGGER before_row BEFORE INSERT OR UPDATE OR DELETE ON items FOR EACH ROW EXECUTE FUNCTION tell('one', 'grün', '');
CREATE TRIGGER after_row AFTER INSERT OR UPDATE OR DELETE ON items FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER before_all BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON items FOR EACH STATEMENT EXECUTE FUNCTION tell();
CREATE TRIGGER after_all AFTER TRUNCATE ON items FOR EACH STATEMENT EXECUTE FUNCTION tell();
INSERT INTO items VALUES (1, 'one', 1.5, '127.0.0.1', '2026-11-22 12:00+00'), (2, NULL, NULL, NULL, NULL);
UPDATE items SET id = id + 10 WHERE id = 1;
DELETE FROM items WHERE id = 2;
TRUNCATE items;
CREATE VIEW seen AS SELECT * FROM items;
CREATE TRIGGER instead INSTEAD OF INSERT ON seen FOR EACH ROW EXECUTE FUNCTION tell();
INSERT INTO seen (id) VALUES (3);
DROP VIEW seen;
DROP TRIGGER before_row ON items; DROP TRIGGER after_row ON items; DROP TRIGGER before_all ON items; DROP TRIGGER after_all ON items;

-- Rows that they change, or leave alone; columns that they cannot see stay.
CREATE TRIGGER change BEFORE INSERT OR UPDATE ON items FOR EACH ROW EXECUTE FUNCTION change('unknown');
INSERT INTO items VALUES (2, NULL, 1.5, '10.0.0.1', '2026-11-22 12:00+00'), (3, 'odd', 0, NULL, NULL), (4, 'four', NULL, NULL, NULL) RETURNING id, name, price, place;
UPDATE items SET id = 6 WHERE id = 8 RETURNING *;
UPDATE items SET id = 7;
-- The table changes under them.
ALTER TABLE items ADD COLUMN more integer DEFAULT 7;
INSERT INTO items VALUES (2, 'x');
ALTER TABLE items DROP COLUMN more;
INSERT INTO items VALUES (20, 'x') RETURNING id, name;
DROP TRIGGER change ON items;

-- Queries within, and transition tables.
CREATE TABLE archive (id integer, name text);
CREATE TRIGGER archive BEFORE DELETE ON items FOR EACH ROW EXECUTE FUNCTION archive();
CREATE TRIGGER count_new AFTER INSERT ON items REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_new();
INSERT INTO items (id) VALUES (-1), (100), (200);
DELETE FROM items WHERE id < 200;
SELECT id FROM items ORDER BY id;
SELECT * FROM archive ORDER BY id;

-- Rows that the server must not believe.
CREATE TRIGGER bad BEFORE INSERT ON items FOR EACH ROW EXECUTE FUNCTION bad();
INSERT INTO items (id) VALUES (0);
INSERT INTO items (id) VALUES (1);
INSERT INTO items (id) VALUES (2);
INSERT INTO items (id) VALUES (3);
INSERT INTO items (id) VALUES (4);
INSERT INTO items (id) VALUES (5);
INSERT INTO items (id, place) VALUES (6, '10.0.0.6') RETURNING *;
INSERT INTO items (id) VALUES (7);
INSERT INTO items (id) VALUES (8);
INSERT INTO items (id) VALUES (9) RETURNING id;

-- Partitions, one of them with other columns before.
CREATE TABLE parts (id integer, name varchar(8), gone text) PARTITION BY LIST (id);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE part_2 (more date, id integer, name varchar(8), gone text);
ALTER TABLE part_2 DROP COLUMN more;
ALTER TABLE parts ATTACH PARTITION part_2 FOR VALUES IN (2);
CREATE TRIGGER tell AFTER INSERT ON parts FOR EACH ROW EXECUTE FUNCTION tell();
INSERT INTO parts VALUES (1, 'a'), (2, 'b'), (1, 'c');

-- Partitions whose columns have another order: functions see rows as the table has them that the trigger was made for.
CREATE FUNCTION mask() RETURNS trigger LANGUAGE lgc AS 'triggers.mask';
CREATE TABLE accounts (id integer, note text, secret text) PARTITION BY LIST (id);
CREATE TABLE account_1 PARTITION OF accounts FOR VALUES IN (1);
CREATE TABLE account_2 (secret text, id integer, note text) PARTITION BY LIST (id);
ALTER TABLE accounts ATTACH PARTITION account_2 FOR VALUES IN (2, 3);
CREATE TABLE account_3 (gone text, note text, more text, id integer, secret text);
ALTER TABLE account_3 DROP COLUMN gone, DROP COLUMN more;
ALTER TABLE account_2 ATTACH PARTITION account_3 FOR VALUES IN (2);
CREATE TRIGGER mask BEFORE INSERT OR UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION mask();
INSERT INTO accounts VALUES (1, 'note', 'secret'), (2, 'note', 'secret');
INSERT INTO account_3 (id, note, secret) VALUES (2, NULL, 'secret');
UPDATE accounts SET note = note || '!', secret = 'another';
SELECT tableoid::regclass AS partition, * FROM accounts ORDER BY 1, 3;
-- One that was made for the partition sees the partition's.
CREATE TRIGGER of_partition BEFORE INSERT ON account_3 FOR EACH ROW EXECUTE FUNCTION mask('partition');
INSERT INTO accounts VALUES (2, 'first', 'second');
DROP TRIGGER of_partition ON account_3;
-- Rows that are older than a column have its default.
ALTER TABLE accounts ADD COLUMN added text DEFAULT 'default';
CREATE TRIGGER keep BEFORE DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION mask('tell');
DELETE FROM accounts WHERE note = 'note!';

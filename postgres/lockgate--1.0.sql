\echo Use "CREATE EXTENSION lockgate" to load this file. \quit

-- The schema is the extension's own, as all that is in it: one that is there already, which may be any role's, is not taken over.
CREATE SCHEMA lockgate;
SET LOCAL search_path TO lockgate;

-- The language.
CREATE FUNCTION call_handler() RETURNS language_handler LANGUAGE c AS 'MODULE_PATHNAME', 'lockgate_call';
CREATE FUNCTION validator(oid) RETURNS void LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'lockgate_validate';
CREATE TRUSTED LANGUAGE lgc HANDLER call_handler VALIDATOR validator;
COMMENT ON LANGUAGE lgc IS 'native code of modules that lockgate.install_module has verified';

-- States of aggregates: CREATE AGGREGATE ... (STYPE = lockgate.state).
CREATE TYPE state;
CREATE FUNCTION state_in(cstring) RETURNS state LANGUAGE c STRICT IMMUTABLE AS 'MODULE_PATHNAME', 'lockgate_state_in';
CREATE FUNCTION state_out(state) RETURNS cstring LANGUAGE c STRICT IMMUTABLE AS 'MODULE_PATHNAME', 'lockgate_state_out';
CREATE TYPE state (INPUT = state_in, OUTPUT = state_out, INTERNALLENGTH = 8, PASSEDBYVALUE, ALIGNMENT = double);
COMMENT ON TYPE state IS 'what an aggregate in language lgc keeps, in the memory of its domain';

-- Owners of modules: roles, which a dump has by their names. (A regrole is a number there, if its role was dropped, and restores as another role, or,
-- if there is none of the name, not at all.)
CREATE TYPE owner;
CREATE FUNCTION owner_in(cstring) RETURNS owner LANGUAGE c STRICT STABLE AS 'MODULE_PATHNAME', 'lockgate_owner_in';
CREATE FUNCTION owner_out(owner) RETURNS cstring LANGUAGE c STRICT STABLE AS 'MODULE_PATHNAME', 'lockgate_owner_out';
CREATE TYPE owner (INPUT = owner_in, OUTPUT = owner_out, LIKE = oid);
CREATE CAST (owner AS oid) WITHOUT FUNCTION;
CREATE CAST (regrole AS owner) WITHOUT FUNCTION AS ASSIGNMENT;
COMMENT ON TYPE owner IS 'a role; read back where there is none of the name, the role that reads it';

-- Modules. The functions below write this table; users need not.
CREATE TABLE module (
    name text COLLATE "C" PRIMARY KEY CHECK (name ~ '^[A-Za-z0-9_-]{1,63}$'),
    owner owner NOT NULL,
    hash bytea NOT NULL,
    installed timestamptz NOT NULL,
    image bytea NOT NULL,
    -- (Sessions know modules by their hashes, and verify each of these once.)
    CHECK (hash = sha256(image))
);
SELECT pg_catalog.pg_extension_config_dump('lockgate.module', '');

-- Others write it when they replicate, or restore a dump: then sessions have to hear of it, too.
CREATE FUNCTION module_changed() RETURNS trigger LANGUAGE c AS 'MODULE_PATHNAME', 'lockgate_module_changed';
CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE ON module FOR EACH ROW EXECUTE FUNCTION module_changed();
CREATE TRIGGER emptied AFTER TRUNCATE ON module FOR EACH STATEMENT EXECUTE FUNCTION module_changed();
ALTER TABLE module ENABLE ALWAYS TRIGGER changed, ENABLE ALWAYS TRIGGER emptied;

-- (Without the images: who may use a module need not be able to copy it.)
CREATE VIEW modules AS SELECT name, owner::oid::regrole AS owner, pg_catalog.length(image) AS size, hash, installed FROM module;

CREATE FUNCTION install_module(name text, image bytea, replace boolean DEFAULT false) RETURNS void
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'lockgate_install_module';
COMMENT ON FUNCTION install_module IS 'verifies a module and keeps it under a name';

CREATE FUNCTION drop_module(name text) RETURNS void LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'lockgate_drop_module';
COMMENT ON FUNCTION drop_module IS 'forgets a module that no function uses';

CREATE FUNCTION module_functions(name text, OUT function text, OUT prototype text) RETURNS SETOF record
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'lockgate_module_functions';
COMMENT ON FUNCTION module_functions IS 'what a module has for CREATE FUNCTION';

-- Who may: the database's owner, and whom he lets.
REVOKE ALL ON FUNCTION install_module(text, bytea, boolean), drop_module(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION install_module(text, bytea, boolean), drop_module(text) TO pg_database_owner WITH GRANT OPTION;
GRANT USAGE ON SCHEMA lockgate TO PUBLIC;
GRANT SELECT ON modules TO PUBLIC;
-- (To dump and restore it. A session that calls a module verifies it, whatever the table says.)
GRANT SELECT, INSERT ON module TO pg_database_owner;

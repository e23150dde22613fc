-- One schema for each language, with the same functions.
CREATE SCHEMA c;
CREATE FUNCTION c.increment(integer) RETURNS integer LANGUAGE c AS 'lockgate_bench' IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION c.arithmetic(bigint) RETURNS bigint LANGUAGE c AS 'lockgate_bench' IMMUTABLE STRICT;
CREATE FUNCTION c.intersects(polygon, box) RETURNS boolean LANGUAGE c AS 'lockgate_bench' IMMUTABLE STRICT;
CREATE FUNCTION c.large_within(polygon, double precision, circle) RETURNS boolean LANGUAGE c AS 'lockgate_bench' IMMUTABLE STRICT;
CREATE FUNCTION c.common_area(polygon, box) RETURNS double precision LANGUAGE c AS 'lockgate_bench' IMMUTABLE STRICT;
CREATE FUNCTION c.contains(polygon, point) RETURNS boolean LANGUAGE c AS 'lockgate_bench' IMMUTABLE STRICT;
CREATE FUNCTION c.mean(double precision[], double precision, double precision) RETURNS double precision LANGUAGE c AS 'lockgate_bench' IMMUTABLE STRICT;
CREATE FUNCTION c.words(text) RETURNS integer LANGUAGE c AS 'lockgate_bench' IMMUTABLE STRICT;

CREATE SCHEMA pipe;
CREATE FUNCTION pipe.arithmetic(bigint) RETURNS bigint LANGUAGE c AS 'lockgate_bench', 'arithmetic_by_pipe' STRICT;

CREATE SCHEMA lgc;
CREATE FUNCTION lgc.increment(integer) RETURNS integer LANGUAGE lgc AS 'confined.increment' IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION lgc.arithmetic(bigint) RETURNS bigint LANGUAGE lgc AS 'confined.arithmetic' IMMUTABLE STRICT;
CREATE FUNCTION lgc.intersects(polygon, box) RETURNS boolean LANGUAGE lgc AS 'confined.intersects' IMMUTABLE STRICT;
CREATE FUNCTION lgc.large_within(polygon, double precision, circle) RETURNS boolean LANGUAGE lgc AS 'confined.large_within' IMMUTABLE STRICT;
CREATE FUNCTION lgc.common_area(polygon, box) RETURNS double precision LANGUAGE lgc AS 'confined.common_area' IMMUTABLE STRICT;
CREATE FUNCTION lgc.contains(polygon, point) RETURNS boolean LANGUAGE lgc AS 'confined.contains' IMMUTABLE STRICT;
CREATE FUNCTION lgc.mean(double precision[], double precision, double precision) RETURNS double precision LANGUAGE lgc AS 'confined.mean' IMMUTABLE STRICT;
CREATE FUNCTION lgc.words(text) RETURNS integer LANGUAGE lgc AS 'confined.words' IMMUTABLE STRICT;
CREATE FUNCTION lgc.crash(integer) RETURNS integer LANGUAGE lgc AS 'confined.crash' STRICT;

CREATE SCHEMA plpgsql;
CREATE FUNCTION plpgsql.arithmetic(x bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
    FOR i IN 1..4 LOOP
        x := (x * 1103 + 12345) % 65536;
    END LOOP;
    RETURN x;
END $$;

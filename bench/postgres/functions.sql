-- One schema for each language, with the same functions. All have the same cost: the planner takes functions in language C for a hundred times as cheap as
-- others, and would call them for rows that another condition leaves out.
CREATE SCHEMA c;
CREATE FUNCTION c.increment(integer) RETURNS integer LANGUAGE c AS 'lockgate_bench' IMMUTABLE STRICT COST 100 PARALLEL SAFE;
CREATE FUNCTION c.check_digit(bigint) RETURNS integer LANGUAGE c AS 'lockgate_bench' IMMUTABLE STRICT COST 100;
CREATE FUNCTION c.intersects(polygon, box) RETURNS boolean LANGUAGE c AS 'lockgate_bench' IMMUTABLE STRICT COST 100;
CREATE FUNCTION c.large_within(polygon, double precision, circle) RETURNS boolean LANGUAGE c AS 'lockgate_bench' IMMUTABLE STRICT COST 100;
CREATE FUNCTION c.area(polygon) RETURNS double precision LANGUAGE c AS 'lockgate_bench' IMMUTABLE STRICT COST 100;
CREATE FUNCTION c.within(polygon, circle) RETURNS boolean LANGUAGE c AS 'lockgate_bench' IMMUTABLE STRICT COST 100;
CREATE FUNCTION c.common_area(polygon, box) RETURNS double precision LANGUAGE c AS 'lockgate_bench' IMMUTABLE STRICT COST 100;
CREATE FUNCTION c.contains(polygon, point) RETURNS boolean LANGUAGE c AS 'lockgate_bench' IMMUTABLE STRICT COST 100;
CREATE FUNCTION c.mean(double precision[], double precision, double precision) RETURNS double precision LANGUAGE c AS 'lockgate_bench' IMMUTABLE STRICT COST 100;
CREATE FUNCTION c.words(text) RETURNS integer LANGUAGE c AS 'lockgate_bench' IMMUTABLE STRICT COST 100;
CREATE FUNCTION c.deviation_step(internal, double precision) RETURNS internal LANGUAGE c AS 'lockgate_bench' IMMUTABLE COST 100;
CREATE FUNCTION c.deviation_result(internal) RETURNS double precision LANGUAGE c AS 'lockgate_bench' IMMUTABLE STRICT COST 100;
CREATE AGGREGATE c.deviation(double precision) (SFUNC = c.deviation_step, STYPE = internal, FINALFUNC = c.deviation_result);

CREATE SCHEMA pipe;
CREATE FUNCTION pipe.increment(integer) RETURNS integer LANGUAGE c AS 'lockgate_bench', 'increment_by_pipe' IMMUTABLE STRICT COST 100;
CREATE FUNCTION pipe.increment_same_cpu(integer) RETURNS integer LANGUAGE c AS 'lockgate_bench', 'increment_by_pipe_same_cpu' IMMUTABLE STRICT COST 100;

CREATE SCHEMA lgc;
CREATE FUNCTION lgc.increment(integer) RETURNS integer LANGUAGE lgc AS 'confined.increment' IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION lgc.check_digit(bigint) RETURNS integer LANGUAGE lgc AS 'confined.check_digit' IMMUTABLE STRICT;
CREATE FUNCTION lgc.intersects(polygon, box) RETURNS boolean LANGUAGE lgc AS 'confined.intersects' IMMUTABLE STRICT;
CREATE FUNCTION lgc.large_within(polygon, double precision, circle) RETURNS boolean LANGUAGE lgc AS 'confined.large_within' IMMUTABLE STRICT;
CREATE FUNCTION lgc.area(polygon) RETURNS double precision LANGUAGE lgc AS 'confined.area' IMMUTABLE STRICT;
CREATE FUNCTION lgc.within(polygon, circle) RETURNS boolean LANGUAGE lgc AS 'confined.within' IMMUTABLE STRICT;
CREATE FUNCTION lgc.common_area(polygon, box) RETURNS double precision LANGUAGE lgc AS 'confined.common_area' IMMUTABLE STRICT;
CREATE FUNCTION lgc.contains(polygon, point) RETURNS boolean LANGUAGE lgc AS 'confined.contains' IMMUTABLE STRICT;
CREATE FUNCTION lgc.mean(double precision[], double precision, double precision) RETURNS double precision LANGUAGE lgc AS 'confined.mean' IMMUTABLE STRICT;
CREATE FUNCTION lgc.words(text) RETURNS integer LANGUAGE lgc AS 'confined.words' IMMUTABLE STRICT;
CREATE FUNCTION lgc.deviation_step(lockgate.state, double precision) RETURNS lockgate.state LANGUAGE lgc AS 'confined.deviation_step' IMMUTABLE;
CREATE FUNCTION lgc.deviation_result(lockgate.state) RETURNS double precision LANGUAGE lgc AS 'confined.deviation_result' IMMUTABLE STRICT;
CREATE AGGREGATE lgc.deviation(double precision) (SFUNC = lgc.deviation_step, STYPE = lockgate.state, FINALFUNC = lgc.deviation_result);
CREATE FUNCTION lgc.crash(integer) RETURNS integer LANGUAGE lgc AS 'confined.crash' STRICT;

CREATE SCHEMA plpgsql;
CREATE FUNCTION plpgsql.check_digit(x bigint) RETURNS integer LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
    sum integer := 0;
    digit integer;
    twice boolean := true;
BEGIN
    WHILE x > 0 LOOP
        digit := x % 10;
        IF twice THEN
            digit := CASE WHEN digit > 4 THEN 2 * digit - 9 ELSE 2 * digit END;
        END IF;
        sum := sum + digit;
        twice := NOT twice;
        x := x / 10;
    END LOOP;
    RETURN (10 - sum % 10) % 10;
END $$;

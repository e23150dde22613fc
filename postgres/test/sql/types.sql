-- Values go into a domain and come back as they were.
SELECT lockgate.install_module('types', pg_read_binary_file(:'modules' || '/types.lg'));
SET ROLE :user;

CREATE FUNCTION same(boolean) RETURNS boolean LANGUAGE lgc AS 'types.same_bool' IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION same(smallint) RETURNS smallint LANGUAGE lgc AS 'types.same_int2' IMMUTABLE STRICT;
CREATE FUNCTION same(integer) RETURNS integer LANGUAGE lgc AS 'types.same_int4' IMMUTABLE STRICT;
CREATE FUNCTION same(bigint) RETURNS bigint LANGUAGE lgc AS 'types.same_int8' IMMUTABLE STRICT;
CREATE FUNCTION same(oid) RETURNS oid LANGUAGE lgc AS 'types.same_oid' IMMUTABLE STRICT;
CREATE FUNCTION same(real) RETURNS real LANGUAGE lgc AS 'types.same_float4' IMMUTABLE STRICT;
CREATE FUNCTION same(double precision) RETURNS double precision LANGUAGE lgc AS 'types.same_float8' IMMUTABLE STRICT;
CREATE FUNCTION same(date) RETURNS date LANGUAGE lgc AS 'types.same_int4' IMMUTABLE STRICT;
CREATE FUNCTION same(time) RETURNS time LANGUAGE lgc AS 'types.same_int8' IMMUTABLE STRICT;
CREATE FUNCTION same(timestamp) RETURNS timestamp LANGUAGE lgc AS 'types.same_int8' IMMUTABLE STRICT;
CREATE FUNCTION same(timestamptz) RETURNS timestamptz LANGUAGE lgc AS 'types.same_int8' IMMUTABLE STRICT;
CREATE FUNCTION same(interval) RETURNS interval LANGUAGE lgc AS 'types.same_interval' IMMUTABLE STRICT;
CREATE FUNCTION same(uuid) RETURNS uuid LANGUAGE lgc AS 'types.same_uuid' IMMUTABLE STRICT;
CREATE FUNCTION same(text) RETURNS text LANGUAGE lgc AS 'types.same_text' IMMUTABLE STRICT;
CREATE FUNCTION same(varchar) RETURNS varchar LANGUAGE lgc AS 'types.same_text' IMMUTABLE STRICT;
CREATE FUNCTION same(character) RETURNS character LANGUAGE lgc AS 'types.same_text' IMMUTABLE STRICT;
CREATE FUNCTION same(json) RETURNS json LANGUAGE lgc AS 'types.same_text' IMMUTABLE STRICT;
CREATE FUNCTION same(bytea) RETURNS bytea LANGUAGE lgc AS 'types.same_bytea' IMMUTABLE STRICT;
CREATE FUNCTION same(numeric) RETURNS numeric LANGUAGE lgc AS 'types.same_numeric' IMMUTABLE STRICT;
CREATE FUNCTION same(point) RETURNS point LANGUAGE lgc AS 'types.same_point' IMMUTABLE STRICT;
CREATE FUNCTION same(lseg) RETURNS lseg LANGUAGE lgc AS 'types.same_lseg' IMMUTABLE STRICT;
CREATE FUNCTION same(box) RETURNS box LANGUAGE lgc AS 'types.same_box' IMMUTABLE STRICT;
CREATE FUNCTION same(circle) RETURNS circle LANGUAGE lgc AS 'types.same_circle' IMMUTABLE STRICT;
CREATE FUNCTION same(path) RETURNS path LANGUAGE lgc AS 'types.same_path' IMMUTABLE STRICT;
CREATE FUNCTION same(polygon) RETURNS polygon LANGUAGE lgc AS 'types.same_polygon' IMMUTABLE STRICT;
CREATE FUNCTION same(boolean[]) RETURNS boolean[] LANGUAGE lgc AS 'types.same_bools' IMMUTABLE STRICT;
CREATE FUNCTION same(smallint[]) RETURNS smallint[] LANGUAGE lgc AS 'types.same_int2s' IMMUTABLE STRICT;
CREATE FUNCTION same(integer[]) RETURNS integer[] LANGUAGE lgc AS 'types.same_int4s' IMMUTABLE STRICT;
CREATE FUNCTION same(bigint[]) RETURNS bigint[] LANGUAGE lgc AS 'types.same_int8s' IMMUTABLE STRICT;
CREATE FUNCTION same(real[]) RETURNS real[] LANGUAGE lgc AS 'types.same_float4s' IMMUTABLE STRICT;
CREATE FUNCTION same(double precision[]) RETURNS double precision[] LANGUAGE lgc AS 'types.same_float8s' IMMUTABLE STRICT;
CREATE FUNCTION same(date[]) RETURNS date[] LANGUAGE lgc AS 'types.same_int4s' IMMUTABLE STRICT;
CREATE FUNCTION same(timestamptz[]) RETURNS timestamptz[] LANGUAGE lgc AS 'types.same_int8s' IMMUTABLE STRICT;
CREATE FUNCTION same(uuid[]) RETURNS uuid[] LANGUAGE lgc AS 'types.same_uuids' IMMUTABLE STRICT;
CREATE FUNCTION same(point[]) RETURNS point[] LANGUAGE lgc AS 'types.same_points' IMMUTABLE STRICT;

SELECT same(true), same(false), same(12::smallint), same((-32768)::smallint), same(2147483647), same((-9223372036854775808)::bigint), same(4294967295::oid);
SELECT same(1.5::real), same('NaN'::real), same(-0.1::double precision), same('-Infinity'::double precision);
SELECT same(date '2026-11-22'), same(date 'infinity'), same(date '4713-01-01 BC'), same(time '23:59:59.999999'), same(interval '1 year -3 days 04:05');
SELECT same(timestamp '1999-12-31 23:59:59'), same(timestamp '-infinity'), same(timestamptz '2026-11-22 12:00+00') = timestamptz '2026-11-22 12:00+00';
SELECT same(uuid 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11');
SELECT same('grün'::text), same(''::text), same('abc'::varchar(2)), same('ab'::char(4)) || '|', same('{"a": 1}'::json);
SELECT same('\x00ff01'::bytea), same(''::bytea), length(same(repeat('x', 3000000))), md5(same(repeat('grün', 300000))) = md5(repeat('grün', 300000));
SELECT same(0::numeric), same(-1234567890.0987654321), same('NaN'::numeric), same('-Infinity'::numeric), same(1e100::numeric) = 1e100::numeric, same(0.00);
SELECT same(point '(1,2)'), same(lseg '[(1,2),(3,4)]'), same(box '(1,2),(3,4)'), same(circle '<(1,2),3>');
SELECT same(path '[(0,0),(1,1),(2,0)]'), same(path '((0,0),(1,1))'), same(polygon '((0,0),(1,1),(2,0))');
SELECT same(ARRAY[true, false]), same('{1,2}'::smallint[]), same('{}'::integer[]), same(ARRAY[1, -1]), same('{9223372036854775807}'::bigint[]);
SELECT same('{1.5,NaN}'::real[]), same('{0.1}'::double precision[]), same('{2026-11-22,infinity}'::date[]), same(ARRAY[point '(1,2)', point '(3,4)']);
SELECT same(ARRAY[uuid 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11']), same('[5:6]={1,2}'::integer[]);
SELECT same(ARRAY[[1,2],[3,4]]);
SELECT same(ARRAY[1, NULL]);

-- Values that are stored compressed, or out of line.
CREATE TEMP TABLE stored AS SELECT repeat('ab', 100000) AS text, (SELECT polygon(256, circle '<(0,0),1>')) AS polygon, (SELECT array_agg(i) FROM generate_series(1, 100000) i) AS numbers;
SELECT same(text) = text, same(polygon) ~= polygon, same(numbers) = numbers FROM stored;

-- Domains over types, and many arguments.
CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
CREATE FUNCTION same_positive(positive) RETURNS integer LANGUAGE lgc AS 'types.same_int4' STRICT;
SELECT same_positive(3);
CREATE FUNCTION many(integer, double precision, text, box, real, bigint, point, uuid, smallint, boolean, circle, double precision, double precision, double precision, double precision, double precision, integer)
    RETURNS text LANGUAGE lgc AS 'types.many' STRICT;
SELECT many(1, 2.5, 'three', box '(4,5),(6,7)', 8.5, -9, point '(10,11)', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 12::smallint, true, circle '<(13,14),15>', 16, 17, 18, 19, 20, 21);
CREATE FUNCTION boxed(integer, double precision, integer, integer, integer, integer, integer) RETURNS box LANGUAGE lgc AS 'types.boxed' STRICT;
SELECT boxed(1, 2.5, 3, 4, 5, 6, 7);
CREATE FUNCTION too_many(box, box, box, box, box) RETURNS box LANGUAGE lgc AS 'types.boxed' STRICT;

-- Nothing in, nothing out; what a module remembers.
CREATE FUNCTION tick() RETURNS void LANGUAGE lgc AS 'types.count';
CREATE FUNCTION ticks() RETURNS integer LANGUAGE lgc AS 'types.counted';
SELECT tick(), tick();
SELECT ticks();
DISCARD ALL;
SET ROLE :user;
SELECT ticks();

-- Nulls.
CREATE FUNCTION nulls(integer, text, polygon, integer[]) RETURNS text LANGUAGE lgc AS 'types.nulls';
SELECT nulls(7, 'text', polygon '((0,0),(1,1),(2,0))', '{1,2}'), nulls(NULL, '', NULL, NULL), nulls(NULL, NULL, NULL, NULL) IS NULL, same(NULL::text) IS NULL;

-- Work.
CREATE FUNCTION total(integer[]) RETURNS bigint LANGUAGE lgc AS 'types.sum' IMMUTABLE STRICT;
CREATE FUNCTION up_to(integer) RETURNS integer[] LANGUAGE lgc AS 'types.up_to' IMMUTABLE STRICT;
CREATE FUNCTION repeated(text, integer) RETURNS text LANGUAGE lgc AS 'types.repeated' IMMUTABLE STRICT;
CREATE FUNCTION area(polygon) RETURNS double precision LANGUAGE lgc AS 'types.area' IMMUTABLE STRICT;
CREATE FUNCTION half(numeric) RETURNS numeric LANGUAGE lgc AS 'types.half' IMMUTABLE STRICT;
SELECT total(up_to(1000)), total('{}'), cardinality(up_to(1000000)), length(repeated('abc', 1000000)), area(polygon '((0,0),(4,0),(4,3),(0,3))');
SELECT half(7), half(12345.678), half(-1);
SELECT sum(area(polygon(16, circle(point(i, i), i)))) BETWEEN 1e6 AND 2e6 FROM generate_series(1, 100) i;
SELECT repeated('x', 100000000);
SELECT length(repeated('x', 10));

-- Results that the server must not believe.
CREATE FUNCTION bad_date(integer) RETURNS date LANGUAGE lgc AS 'types.bad_date' STRICT;
CREATE FUNCTION bad_stamp(bigint) RETURNS timestamp LANGUAGE lgc AS 'types.bad_stamp' STRICT;
CREATE FUNCTION bad_time(bigint) RETURNS time LANGUAGE lgc AS 'types.bad_stamp' STRICT;
CREATE FUNCTION bad_text(integer) RETURNS text LANGUAGE lgc AS 'types.bad_text' STRICT;
CREATE FUNCTION far_text(bigint, bigint) RETURNS text LANGUAGE lgc AS 'types.far_text' STRICT;
CREATE FUNCTION far_array(bigint, bigint) RETURNS bigint[] LANGUAGE lgc AS 'types.far_array' STRICT;
CREATE FUNCTION far_polygon(bigint) RETURNS polygon LANGUAGE lgc AS 'types.far_polygon' STRICT;
CREATE FUNCTION bad_polygon(integer) RETURNS polygon LANGUAGE lgc AS 'types.bad_polygon' STRICT;
CREATE FUNCTION bad_circle(double precision) RETURNS circle LANGUAGE lgc AS 'types.bad_circle' STRICT;
CREATE FUNCTION twisted() RETURNS box LANGUAGE lgc AS 'types.twisted' STRICT;
CREATE FUNCTION bad_numeric(integer) RETURNS numeric LANGUAGE lgc AS 'types.bad_numeric' STRICT;
CREATE FUNCTION bad_bool() RETURNS boolean LANGUAGE lgc AS 'types.bad_bool' STRICT;
CREATE FUNCTION large_bool() RETURNS boolean LANGUAGE lgc AS 'types.large_bool' STRICT;
CREATE FUNCTION bad_bools() RETURNS boolean[] LANGUAGE lgc AS 'types.bad_bools' STRICT;
SELECT bad_date(9700), bad_stamp(0), bad_time(0);
SELECT bad_date(2147483646);
SELECT bad_stamp(-9223372036854775807);
SELECT bad_time(-1);
SELECT bad_text(0);
SELECT bad_text(1);
SELECT bad_text(2);
SELECT far_text(0, 0) = '';
SELECT far_text(8, 1);
SELECT far_text(140737488355327, 100);
SELECT far_text(65536, 9223372036854775807);
SELECT far_text(65536, -1);
SELECT far_text(65536, 1000000000);
SELECT far_array(65536, 1152921504606846976);
SELECT far_array(65536, 2305843009213693953);
SELECT far_polygon(16);
SELECT far_polygon(4294967292);
SELECT bad_polygon(0);
SELECT bad_polygon(-1);
SELECT bad_polygon(2147483647);
SELECT bad_circle(-1);
SELECT twisted(), twisted() @> point '(2,3)', bad_bools();
SELECT bad_bool(), large_bool(), record_image_eq(ROW(large_bool()), ROW(true));
SELECT b, count(*) FROM unnest(bad_bools()) b GROUP BY b ORDER BY b;
SELECT bad_numeric(0);
SELECT bad_numeric(1);
SELECT bad_numeric(2);
SELECT bad_numeric(3);
CREATE FUNCTION bad_json(text) RETURNS json LANGUAGE lgc AS 'types.same_text' STRICT;
SELECT bad_json('[1, {"a": null}]');
SELECT bad_json('[1, {"a": nul}]');
SELECT bad_json('');
SELECT same('still here'::text);

-- Arrays of texts.
CREATE FUNCTION same(text[]) RETURNS text[] LANGUAGE lgc AS 'types.same_texts' IMMUTABLE STRICT;
CREATE FUNCTION same(varchar[]) RETURNS varchar[] LANGUAGE lgc AS 'types.same_texts' IMMUTABLE STRICT;
CREATE FUNCTION split(text, text) RETURNS text[] LANGUAGE lgc AS 'types.split' IMMUTABLE STRICT;
CREATE FUNCTION bad_texts(integer) RETURNS text[] LANGUAGE lgc AS 'types.bad_texts' STRICT;
SELECT same('{a,NULL,"",grün,"{,}"}'::text[]), same('{}'::text[]), same('[3:4]={x,y}'::varchar[]), same(ARRAY[NULL]::text[]);
SELECT same('{{a},{b}}'::text[]);
SELECT split('one,two,,three', ','), cardinality(split(repeat('word ', 100000), ' ')), md5(array_to_string(same(array_agg(repeat('x', i % 5000))), ','))
    = md5(string_agg(repeat('x', i % 5000), ',')) FROM generate_series(1, 3000) i;
SELECT bad_texts(0);
SELECT bad_texts(1);
SELECT bad_texts(2);
SELECT bad_texts(3);
SELECT bad_texts(4);
SELECT bad_texts(5);
SELECT bad_texts(6);
SELECT bad_texts(7);

-- Few arguments, some of them on the stack.
CREATE FUNCTION weighed(integer, box, double precision, integer) RETURNS double precision LANGUAGE lgc AS 'types.weighed' IMMUTABLE STRICT;
CREATE FUNCTION weighed(bigint, circle, real) RETURNS bigint LANGUAGE lgc AS 'types.weighed_circle' IMMUTABLE STRICT;
SELECT weighed(1, box '(4,5),(2,3)', 6, 7), weighed(1, circle '<(2,3),4>', 5), weighed(NULL, circle '<(2,3),4>', 5);

-- Values that end where memory for them ends, and beside; and large ones before small ones.
CREATE FUNCTION sizes(text, text, text) RETURNS bigint LANGUAGE lgc AS 'types.sizes' STRICT;
SELECT a, b, c, sizes(repeat('a', a), repeat('b', b), repeat('c', c)) - a - b - c AS zero
    FROM (VALUES (65536, 0, 0), (65535, 0, 0), (65520, 16, 0), (65520, 0, 1), (0, 65536, 65536), (65535, 1, 131072), (5000000, 0, 3), (1, 5000000, 9000000), (0, 0, 0)) AS v (a, b, c);
-- Shapes with what is no number are as the server's input functions make them.
CREATE FUNCTION odd_box(double precision, double precision, double precision, double precision) RETURNS box LANGUAGE lgc AS 'types.odd_box' STRICT;
CREATE FUNCTION odd_polygon(double precision, double precision) RETURNS polygon LANGUAGE lgc AS 'types.odd_polygon' STRICT;
SELECT a, b, c, d, odd_box(a, b, c, d), odd_box(a, b, c, d)::text = format('((%s,%s),(%s,%s))', a, b, c, d)::box::text AS same
    FROM (VALUES (1::double precision, 1::double precision, 'NaN'::double precision, 'NaN'::double precision), ('NaN', 'NaN', 1, 1), ('Infinity', 1, '-Infinity', 'NaN'), ('NaN', 1, 1, 'NaN'), ('NaN', 'NaN', 'NaN', 'NaN'))
        AS v (a, b, c, d);
SELECT x, y, box(odd_polygon(x, y)), box(odd_polygon(x, y))::text = box(format('((0,0),(%s,%s),(2,2))', x, y)::polygon)::text AS same
    FROM (VALUES (1::double precision, 1::double precision), ('NaN', 'NaN'), ('NaN', -1), ('-Infinity', 'NaN')) AS v (x, y);

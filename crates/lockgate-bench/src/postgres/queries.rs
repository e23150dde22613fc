//! Statements in language lgc and in language C.

/// A statement to measure.
pub struct Query {
    /// The metric: its ratio.
    pub metric: &'static str,
    /// Its text, with `$L` for the language's schema.
    pub sql: &'static str,
    /// How often it calls a function.
    pub calls: &'static str,
    /// How often a full run repeats it for a sample, so that one takes some seconds.
    pub times: u32,
}

const POLYGONS_AND_VIEWS: &str = "SELECT (SELECT count(*) FROM landuse) * (SELECT count(*) FROM views)";

/// As in the paper, a query of Sequoia reads all polygons, once for each view or place: the tables are those of the regional benchmark (93,607
/// polygons of 46 points on average), reduced only in a quick run.
pub const QUERIES: &[Query] = &[
    Query {
        metric: "postgres.sequoia.q6",
        sql: "SELECT sum(n), sum(ids) FROM views, LATERAL (SELECT count(*) AS n, sum(id) AS ids FROM landuse WHERE $L.intersects(shape, rectangle)) found",
        calls: POLYGONS_AND_VIEWS,
        times: 1,
    },
    // Two functions. The planner looks at the circle first, the cheaper condition, and at the size of what is left.
    Query {
        metric: "postgres.sequoia.q7",
        sql: "SELECT sum(n), sum(ids) FROM views, LATERAL (SELECT count(*) AS n, sum(id) AS ids FROM landuse WHERE $L.area(shape) > 20 AND $L.within(shape, surrounding)) found",
        calls: "SELECT count(*) + count(*) FILTER (WHERE c.within(shape, surrounding)) FROM landuse, views",
        times: 1,
    },
    // The size first, which most pass: nearly two calls for each polygon, as the paper counts them.
    Query {
        metric: "postgres.sequoia.q7_size_first",
        sql: "SELECT sum(n), sum(ids) FROM views, LATERAL (SELECT count(*) AS n, sum(id) AS ids FROM landuse WHERE CASE WHEN $L.area(shape) > 20 THEN $L.within(shape, surrounding) END) found",
        calls: "SELECT (SELECT count(*) + count(*) FILTER (WHERE c.area(shape) > 20) FROM landuse) * (SELECT count(*) FROM views)",
        times: 1,
    },
    // The same as one.
    Query {
        metric: "postgres.sequoia.q7_one_function",
        sql: "SELECT sum(n), sum(ids) FROM views, LATERAL (SELECT count(*) AS n, sum(id) AS ids FROM landuse WHERE $L.large_within(shape, 20, surrounding)) found",
        calls: POLYGONS_AND_VIEWS,
        times: 1,
    },
    Query {
        metric: "postgres.sequoia.q8",
        sql: "SELECT round(sum(area)::numeric, 3) FROM views, LATERAL (SELECT sum($L.common_area(shape, rectangle)) AS area FROM landuse) used",
        calls: POLYGONS_AND_VIEWS,
        times: 1,
    },
    Query {
        metric: "postgres.sequoia.q10",
        sql: "SELECT sum(n), sum(ids) FROM places, LATERAL (SELECT count(*) AS n, sum(id) AS ids FROM landuse WHERE kind = 3 AND $L.contains(shape, at)) found",
        calls: "SELECT (SELECT count(*) FROM landuse WHERE kind = 3) * (SELECT count(*) FROM places)",
        times: 1,
    },
    // The same as a join, which today's planner turns round: a polygon meets all places one after the other, in the processor's cache.
    Query {
        metric: "postgres.sequoia.q10_join",
        sql: "SELECT count(*), sum(landuse.id) FROM places, landuse WHERE kind = 3 AND $L.contains(shape, at)",
        calls: "SELECT (SELECT count(*) FROM landuse WHERE kind = 3) * (SELECT count(*) FROM places)",
        times: 10,
    },
    Query {
        metric: "postgres.microcall",
        sql: "SELECT sum($L.increment(i)) FROM generate_series(1, (SELECT count(*) FROM numbers)::integer) i",
        calls: "SELECT count(*) FROM numbers",
        times: 20,
    },
    Query {
        metric: "postgres.aggregate",
        sql: "SELECT round($L.deviation(i)::numeric, 3) FROM numbers",
        calls: "SELECT count(*) + 1 FROM numbers",
        times: 30,
    },
    Query {
        metric: "postgres.arrays",
        sql: "SELECT round(sum($L.mean(cells, 20, 80))::numeric, 3) FROM rasters, generate_series(1, 20)",
        calls: "SELECT 20 * count(*) FROM rasters",
        times: 12,
    },
    Query {
        metric: "postgres.texts",
        sql: "SELECT sum($L.words(text)) FROM texts, generate_series(1, 5)",
        calls: "SELECT 5 * count(*) FROM texts",
        times: 16,
    },
];

/* Geometry for PostgreSQL: what its users would write in C, if they might. */
#include <lockgate_pg.h>

double poly_area(const lg_pg_polygon *polygon) {
    double twice = 0;
    for (int i = 0, j = polygon->count - 1; i < polygon->count; j = i++)
        twice += (polygon->points[j].x + polygon->points[i].x) * (polygon->points[j].y - polygon->points[i].y);
    return twice < 0 ? -twice / 2 : twice / 2;
}

/* The smallest rectangle with sides of whole numbers that a polygon is in. */
lg_pg_box whole_bounds(const lg_pg_polygon *polygon) {
    lg_pg_box bounds = polygon->bounds;
    if (bounds.high.x - bounds.low.x > 1e15 || bounds.high.y - bounds.low.y > 1e15)
        lg_pg_error("22003", "a polygon %g wide and %g high", bounds.high.x - bounds.low.x, bounds.high.y - bounds.low.y);
    int64_t left = (int64_t)bounds.low.x, bottom = (int64_t)bounds.low.y;
    int64_t right = (int64_t)bounds.high.x, top = (int64_t)bounds.high.y;
    left -= left > bounds.low.x;
    bottom -= bottom > bounds.low.y;
    right += right < bounds.high.x;
    top += top < bounds.high.y;
    return (lg_pg_box){{right, top}, {left, bottom}};
}

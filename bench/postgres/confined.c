/* The side in a domain: functions of language lgc. */
#include "work.h"

#include <lockgate_pg.h>

#define POINTS(polygon) (const xy *)(polygon)->points, (polygon)->count
#define XY(point) ((xy){(point).x, (point).y})

int32_t increment(int32_t x) { return x + 1; }

int32_t check_digit(int64_t x) { return work_check_digit(x); }

lg_pg_state *deviation_step(lg_pg_state *state, double value) {
    struct deviation *of = state ? (struct deviation *)state : lg_pg_state_alloc(sizeof *of);
    work_deviation(of, value);
    return (lg_pg_state *)of;
}

double deviation_result(lg_pg_state *state) {
    const struct deviation *of = (const struct deviation *)state;
    return of->squares / of->count;
}

bool intersects(const lg_pg_polygon *polygon, lg_pg_box box) { return work_intersects(POINTS(polygon), XY(box.high), XY(box.low)); }

bool large_within(const lg_pg_polygon *polygon, double least, lg_pg_circle circle) {
    return work_large_within(POINTS(polygon), least, XY(circle.center), circle.radius);
}

double area(const lg_pg_polygon *polygon) { return work_area(POINTS(polygon)); }

bool within(const lg_pg_polygon *polygon, lg_pg_circle circle) { return work_within(POINTS(polygon), XY(circle.center), circle.radius); }

double common_area(const lg_pg_polygon *polygon, lg_pg_box box) { return work_common_area(POINTS(polygon), XY(box.high), XY(box.low)); }

bool contains(const lg_pg_polygon *polygon, lg_pg_point point) { return work_contains(POINTS(polygon), XY(point)); }

double mean(lg_pg_float8s cells, double least, double most) { return work_mean(cells.at, cells.count, least, most); }

int32_t words(lg_pg_text text) { return work_words(text.at, text.size); }

int32_t crash(int32_t x) { return *(volatile int32_t *)(uintptr_t)x; }

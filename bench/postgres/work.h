/* What both sides do: the functions of the Sequoia 2000 queries that use types of users' (Stonebraker and others 1993; SFI paper, table 3), and
 * smaller ones. Included by plain.c, functions of language C, and by confined.c, those of a module: the same source for both. */
#ifndef WORK_H
#define WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct { double x, y; } xy;

/* Whether the segment from a to b meets the rectangle. (Liang and Barsky 1984.) */
static inline bool meets(xy a, xy b, xy high, xy low) {
    double from = 0, to = 1, dx = b.x - a.x, dy = b.y - a.y;
    double p[4] = {-dx, dx, -dy, dy}, q[4] = {a.x - low.x, high.x - a.x, a.y - low.y, high.y - a.y};
    for (int i = 0; i < 4; i++) {
        if (p[i] == 0) {
            if (q[i] < 0)
                return false;
            continue;
        }
        double t = q[i] / p[i];
        if (p[i] < 0 ? t > to : t < from)
            return false;
        if (p[i] < 0 && t > from)
            from = t;
        if (p[i] > 0 && t < to)
            to = t;
    }
    return from <= to;
}

static inline bool work_contains(const xy *points, int count, xy at) {
    bool inside = false;
    for (int i = 0, j = count - 1; i < count; j = i++)
        if ((points[i].y > at.y) != (points[j].y > at.y) &&
            at.x < (points[j].x - points[i].x) * (at.y - points[i].y) / (points[j].y - points[i].y) + points[i].x)
            inside = !inside;
    return inside;
}

/* Query 6: whether a polygon and a rectangle have something in common. */
static inline bool work_intersects(const xy *points, int count, xy high, xy low) {
    for (int i = 0, j = count - 1; i < count; j = i++)
        if (meets(points[j], points[i], high, low))
            return true;
    return work_contains(points, count, low);
}

static inline double work_area(const xy *points, int count) {
    double twice = 0;
    for (int i = 0, j = count - 1; i < count; j = i++)
        twice += (points[j].x + points[i].x) * (points[j].y - points[i].y);
    return twice < 0 ? -twice / 2 : twice / 2;
}

/* Query 7, with the area: whether a polygon is wholly within a circle. */
static inline bool work_within(const xy *points, int count, xy center, double radius) {
    for (int i = 0; i < count; i++) {
        double dx = points[i].x - center.x, dy = points[i].y - center.y;
        if (dx * dx + dy * dy > radius * radius)
            return false;
    }
    return true;
}

/* The same in one function, which computes the area first, too. */
static inline bool work_large_within(const xy *points, int count, double least, xy center, double radius) {
    return work_area(points, count) > least && work_within(points, count, center, radius);
}

/* Query 8: the area that a polygon and a rectangle have in common. (Sutherland and Hodgman 1974.) */
static inline double work_common_area(const xy *points, int count, xy high, xy low) {
    enum { MOST = 256 };
    xy one[MOST], other[MOST], *from = one, *to = other;
    if (count > MOST / 2)
        count = MOST / 2;
    for (int i = 0; i < count; i++)
        from[i] = points[i];
    for (int side = 0; side < 4 && count > 0; side++) {
        int kept = 0;
        for (int i = 0; i < count; i++) {
            xy a = from[i], b = from[i + 1 == count ? 0 : i + 1];
            double da = side == 0 ? a.x - low.x : side == 1 ? high.x - a.x : side == 2 ? a.y - low.y : high.y - a.y;
            double db = side == 0 ? b.x - low.x : side == 1 ? high.x - b.x : side == 2 ? b.y - low.y : high.y - b.y;
            if (da >= 0)
                to[kept++] = a;
            if ((da >= 0) != (db >= 0))
                to[kept++] = (xy){a.x + (b.x - a.x) * da / (da - db), a.y + (b.y - a.y) * da / (da - db)};
            if (kept >= MOST - 1)
                break;
        }
        count = kept;
        xy *swap = from;
        from = to;
        to = swap;
    }
    return work_area(from, count);
}

/* The check digit of a card's number. (Luhn 1954.) */
static inline int32_t work_check_digit(int64_t x) {
    int32_t sum = 0;
    for (bool twice = true; x > 0; x /= 10, twice = !twice) {
        int32_t digit = x % 10;
        if (twice)
            digit = digit > 4 ? 2 * digit - 9 : 2 * digit;
        sum += digit;
    }
    return (10 - sum % 10) % 10;
}

/* Mean and variance of what came so far. (Welford 1962.) */
struct deviation { int64_t count; double mean, squares; };

static inline void work_deviation(struct deviation *of, double value) {
    double distance = value - of->mean;
    of->mean += distance / ++of->count;
    of->squares += distance * (value - of->mean);
}

/* A raster's cell: mean of what lies between two values. */
static inline double work_mean(const double *cells, size_t count, double least, double most) {
    double sum = 0;
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (cells[i] >= least && cells[i] <= most) {
            sum += cells[i];
            found++;
        }
    return found ? sum / found : 0;
}

/* How many words a text has. */
static inline int32_t work_words(const char *text, size_t size) {
    int32_t words = 0;
    bool in_word = false;
    for (size_t i = 0; i < size; i++) {
        bool is_space = text[i] == ' ' || text[i] == '\n' || text[i] == '\t';
        words += !is_space && !in_word;
        in_word = !is_space;
    }
    return words;
}

#endif

/* Every type, there and back. */
#include <lockgate_pg.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SAME(name, type) \
    type same_##name(type value) { return value; }
SAME(bool, bool)
SAME(int2, int16_t)
SAME(int4, int32_t)
SAME(int8, int64_t)
SAME(oid, uint32_t)
SAME(float4, float)
SAME(float8, double)
SAME(uuid, lg_pg_uuid)
SAME(interval, lg_pg_interval)
SAME(text, lg_pg_text)
SAME(bytea, lg_pg_bytes)
SAME(numeric, const lg_pg_numeric *)
SAME(point, lg_pg_point)
SAME(lseg, lg_pg_lseg)
SAME(box, lg_pg_box)
SAME(circle, lg_pg_circle)
SAME(path, const lg_pg_path *)
SAME(polygon, const lg_pg_polygon *)
SAME(bools, lg_pg_bools)
SAME(int2s, lg_pg_int2s)
SAME(int4s, lg_pg_int4s)
SAME(int8s, lg_pg_int8s)
SAME(float4s, lg_pg_float4s)
SAME(float8s, lg_pg_float8s)
SAME(points, lg_pg_points)
SAME(uuids, lg_pg_uuids)

/* Registers of both kinds, and arguments on the stack, in an order that mixes them. */
lg_pg_text many(int32_t a, double b, lg_pg_text c, lg_pg_box d, float e, int64_t f, lg_pg_point g, lg_pg_uuid h, int16_t i, bool j,
                lg_pg_circle k, double l, double m, double n, double o, double p, int32_t q) {
    char *text = lg_pg_alloc(1024);
    int length = snprintf(text, 1024, "%d %g %.*s (%g,%g),(%g,%g) %g %lld (%g,%g) %02x..%02x %d %d <(%g,%g),%g> %g %g %g %g %g %d", a, b,
                          (int)c.size, c.at, d.high.x, d.high.y, d.low.x, d.low.y, e, (long long)f, g.x, g.y, h.bytes[0], h.bytes[15], i, j,
                          k.center.x, k.center.y, k.radius, l, m, n, o, p, q);
    return (lg_pg_text){text, length};
}

lg_pg_box boxed(int32_t a, double b, int32_t c, int32_t d, int32_t e, int32_t f, int32_t g) {
    return (lg_pg_box){{a, b}, {c + d + e + f, g}};
}

static int calls;

void count(void) { calls++; }

int32_t counted(void) { return calls; }

/* Nulls. */
lg_pg_text nulls(int32_t a, lg_pg_text b, const lg_pg_polygon *c, lg_pg_int4s d) {
    char *text = lg_pg_alloc(64);
    if (lg_pg_is_null(0) && lg_pg_is_null(1) && lg_pg_is_null(2) && lg_pg_is_null(3))
        lg_pg_return_null();
    int length = snprintf(text, 64, "%d%d%d%d %d %zu %d %zu", lg_pg_is_null(0), lg_pg_is_null(1), lg_pg_is_null(2), lg_pg_is_null(3), a, b.size,
                          c ? c->count : -1, d.count);
    return (lg_pg_text){text, length};
}

/* Arrays and text. */
int64_t sum(lg_pg_int4s numbers) {
    int64_t sum = 0;
    for (size_t i = 0; i < numbers.count; i++)
        sum += numbers.at[i];
    return sum;
}

lg_pg_int4s up_to(int32_t most) {
    int32_t *numbers = lg_pg_alloc(most * sizeof *numbers);
    for (int32_t i = 0; i < most; i++)
        numbers[i] = i + 1;
    return (lg_pg_int4s){numbers, most};
}

lg_pg_text repeated(lg_pg_text text, int32_t times) {
    char *all = malloc(text.size * times);
    if (!all)
        lg_pg_error("53200", "no memory for %zu bytes", text.size * times);
    for (int32_t i = 0; i < times; i++)
        memcpy(all + i * text.size, text.at, text.size);
    return (lg_pg_text){all, text.size * times};
}

double area(const lg_pg_polygon *polygon) {
    double twice = 0;
    for (int i = 0, j = polygon->count - 1; i < polygon->count; j = i++)
        twice += (polygon->points[j].x + polygon->points[i].x) * (polygon->points[j].y - polygon->points[i].y);
    return twice < 0 ? -twice / 2 : twice / 2;
}

const lg_pg_numeric *half(const lg_pg_numeric *number) {
    /* 10000 * digit[0] + digit[1] ... halved, from the left, with five digits more. */
    static struct { lg_pg_numeric number; int16_t digits[64]; } half;
    int rest = 0, i;
    half.number = *number;
    half.number.scale = number->scale + 1;
    for (i = 0; i < number->count && i < 63; i++) {
        int digit = rest * 10000 + number->digits[i];
        half.digits[i] = digit / 2;
        rest = digit % 2;
    }
    half.digits[i] = 5000 * rest;
    half.number.count = i + 1;
    return &half.number;
}

/* Results that may not be. */
int32_t bad_date(int32_t days) { return days; }
int64_t bad_stamp(int64_t microseconds) { return microseconds; }
lg_pg_text bad_text(int32_t which) {
    static const char *const texts[] = {"\xff\xfe", "a\0b", "\xc3"};
    return (lg_pg_text){texts[which], which == 1 ? 3 : strlen(texts[which])};
}
lg_pg_text far_text(int64_t at, int64_t size) { return (lg_pg_text){(const char *)at, size}; }
lg_pg_int8s far_array(int64_t at, int64_t count) { return (lg_pg_int8s){(const int64_t *)at, count}; }
const lg_pg_polygon *far_polygon(int64_t at) { return (const lg_pg_polygon *)at; }
const lg_pg_polygon *bad_polygon(int32_t count) {
    static lg_pg_polygon polygon;
    polygon.count = count;
    return &polygon;
}
lg_pg_circle bad_circle(double radius) { return (lg_pg_circle){{0, 0}, radius}; }
/* Corners and points that are no numbers. */
lg_pg_box odd_box(double x1, double y1, double x2, double y2) { return (lg_pg_box){{x1, y1}, {x2, y2}}; }
const lg_pg_polygon *odd_polygon(double x, double y) {
    lg_pg_polygon *polygon = lg_pg_alloc(sizeof *polygon + 3 * sizeof(lg_pg_point));
    polygon->count = 3;
    polygon->points[0] = (lg_pg_point){0, 0};
    polygon->points[1] = (lg_pg_point){x, y};
    polygon->points[2] = (lg_pg_point){2, 2};
    return polygon;
}
lg_pg_box twisted(void) { return (lg_pg_box){{1, 2}, {3, 4}}; }
const lg_pg_numeric *bad_numeric(int32_t which) {
    static struct { lg_pg_numeric number; int16_t digits[2]; } numbers[] = {
        {{2, 0, LG_PG_POSITIVE, 0}, {1, 10000}}, {{1, 0, 0x1234, 0}, {1}}, {{65535, 0, LG_PG_POSITIVE, 0}, {1}}, {{1, 0, LG_PG_NAN, 0}, {1}}};
    if (which != 2)
        return &numbers[which].number;
    /* More digits than there are: what is behind the first page cannot be read. */
    enum { PAGE = 4096, PAGES = 40 };
    char *all = mmap(NULL, PAGE * PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mprotect(all + PAGE, PAGE * (PAGES - 1), PROT_NONE))
        return NULL;
    return memcpy(all + PAGE - sizeof numbers[2], &numbers[2], sizeof numbers[2]);
}
/* The lowest byte of rax is the value; compilers leave anything in the others. */
__attribute__((naked)) bool bad_bool(void) { __asm__("movl $0x100, %eax\n\tret"); }
__attribute__((naked)) bool large_bool(void) { __asm__("movl $0x102, %eax\n\tret"); }
lg_pg_bools bad_bools(void) {
    static const unsigned char bytes[] = {0, 1, 2, 255};
    return (lg_pg_bools){(const bool *)bytes, 4};
}

/* What an aggregate adds up in several processes. */
int64_t plus(int64_t a, int64_t b) { return a + b; }

/* Texts. */
SAME(texts, lg_pg_texts)

lg_pg_texts split(lg_pg_text text, lg_pg_text at) {
    lg_pg_text *parts = lg_pg_alloc((text.size + 1) * sizeof *parts);
    size_t count = 0;
    for (size_t i = 0, begin = 0; i <= text.size; i++)
        if (i == text.size || text.at[i] == at.at[0]) {
            parts[count++] = (lg_pg_text){i > begin ? text.at + begin : NULL, i - begin};
            begin = i + 1;
        }
    return (lg_pg_texts){parts, count};
}

lg_pg_texts bad_texts(int32_t which) {
    static lg_pg_text texts[2] = {{"fine", 4}, {"\xff", 1}};
    switch (which) {
    case 0: return (lg_pg_texts){texts, 2};
    case 1: return (lg_pg_texts){texts, 1ul << 60};
    case 2: return (lg_pg_texts){texts, 1 << 24};
    case 3: return (lg_pg_texts){(const lg_pg_text *)8, 1};
    case 4: texts[1] = (lg_pg_text){"x", -1}; return (lg_pg_texts){texts, 2};
    case 7: {
        /* A megabyte, ten thousand times. */
        lg_pg_text *many = calloc(10000, sizeof *many);
        char *megabyte = calloc(1, 1 << 20);
        memset(megabyte, 'x', 1 << 20);
        for (int i = 0; i < 10000; i++)
            many[i] = (lg_pg_text){megabyte, 1 << 20};
        return (lg_pg_texts){many, 10000};
    }
    case 5: texts[1] = (lg_pg_text){(const char *)8, 1}; return (lg_pg_texts){texts, 2};
    }
    return (lg_pg_texts){texts, 1};
}

double weighed(int32_t a, lg_pg_box b, double c, int32_t d) {
    return a + 1e1 * b.high.x + 1e2 * b.high.y + 1e3 * b.low.x + 1e4 * b.low.y + 1e5 * c + 1e6 * d;
}

int64_t weighed_circle(int64_t a, lg_pg_circle b, float c) { return a + 1e1 * b.center.x + 1e2 * b.center.y + 1e3 * b.radius + 1e4 * c; }

static bool is_all(lg_pg_text text, char letter) {
    for (size_t i = 0; i < text.size; i++)
        if (text.at[i] != letter)
            return false;
    return text.at;
}

int64_t sizes(lg_pg_text a, lg_pg_text b, lg_pg_text c) {
    return is_all(a, 'a') && is_all(b, 'b') && is_all(c, 'c') ? (int64_t)(a.size + b.size + c.size) : -1;
}

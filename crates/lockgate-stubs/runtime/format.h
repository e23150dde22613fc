/* ---- variable arguments, as a format describes them --------------------------------------------------------------------------- */

/* A va_list of x86-64 whose registers are used up: everything comes from memory. */
struct lgs_va_list {
    uint32_t integers, floats;
    uint64_t memory, registers;
};

/* One argument; returns where the next is put. */
static inline struct lgs_far *lgs_argument(struct lgs_far *at, uint64_t value)
{
    lgs_put(at, &value, sizeof value);
    return lgs_far(at, sizeof value);
}

/* Bytes of a string of which at most `precision` characters are taken; LGS_WHOLE is all of it. Not one is read that the library would not read: it steps over
 * a character of several bytes (`wide`) as far as those continue. */
enum { LGS_WHOLE = -1 };
static inline size_t lgs_taken(const char *text, int precision, bool wide)
{
    if (precision == LGS_WHOLE)
        return strlen(text);
    if (!wide)
        return strnlen(text, (size_t)precision);
    const char *at = text;
    while (precision-- > 0 && *at)
        if ((unsigned char)*at++ >= 0xc0)
            while (((unsigned char)*at & 0xc0) == 0x80)
                at++;
    return (size_t)(at - text);
}

/* The same of a precision below 0 that stands among the arguments: to printf that is none, to others (SQLite) the number without its sign. So it is good only
 * where both come to the same, and no more is read than either reads. */
static inline size_t lgs_taken_below(struct lgs_call *c, const char *text, int precision)
{
    size_t most = (size_t)-(int64_t)precision;
    size_t length = strnlen(text, most);
    if (length == most)
        lgs_fail(c, LG_STUB_STRING, "format", "a precision below 0, and text that does not end before: libraries differ in what that means");
    return length;
}

/* Copies of the arguments that `format` takes from `list`, as a va_list inside. Conversions in `strings` take strings, those in `given` memory of
 * the library's. */
static uint64_t lgs_arguments(struct lgs_call *c, const char *format, va_list list, const char *strings, const char *given)
{
    size_t most = 1;
    lgs_private(c, format, 1, "format");
    for (const char *at = c->failed ? 0 : format; at && *at; at++)
        most += *at == '%' ? 3 : 0; /* a width, a precision and the argument */
    struct lgs_block head = lgs_room(c, 0, sizeof(struct lgs_va_list));
    struct lgs_block body = lgs_room(c, 0, most * 8);
    if (c->failed)
        return 0;
    struct lgs_far *next = body.here;
    va_list arguments;
    va_copy(arguments, list);
    for (const char *at = format; at && *at && !c->failed; at++) {
        if (*at != '%')
            continue;
        size_t flags = strspn(++at, "-+ #0,!'");
        bool wide = memchr(at, '!', flags) != 0;
        int precision = LGS_WHOLE, stars = 0;
        bool below = false;
        for (at += flags; *at == '*' || *at == '.' || (*at >= '0' && *at <= '9'); at++) {
            if (*at == '.')
                precision = 0;
            else if (*at != '*')
                precision = precision < 0 ? LGS_WHOLE : precision > (__INT_MAX__ - 9) / 10 ? __INT_MAX__ : precision * 10 + (*at - '0');
            else if (++stars > 2) { /* there is no room for more */
                lgs_fail(c, LG_STUB_SIZE, "format", "it has a conversion with more than a width and a precision");
                break;
            } else {
                int number = va_arg(arguments, int);
                next = lgs_argument(next, (uint64_t)(int64_t)number);
                below = precision != LGS_WHOLE && number < 0;
                precision = precision == LGS_WHOLE ? LGS_WHOLE : number;
            }
        }
        unsigned longs = 0;
        bool extended = false;
        for (; *at && strchr("hlzjtL", *at) && !strchr(strings, *at) && !strchr(given, *at); at++) {
            longs += *at != 'h';
            extended |= *at == 'L';
        }
        bool is_text = *at == 's' || (*at && strchr(strings, *at));
        if ((longs && is_text) || (extended && *at && strchr("eEfFgGaA", *at))) {
            /* (Whose characters are how wide, libraries differ in; where it lies, these arguments do.) */
            lgs_fail(c, LG_STUB_SIZE, "format", "it takes wide characters or a long double, which cannot be passed on");
        } else if (is_text) {
            const char *text = va_arg(arguments, const char *);
            size_t length = 0;
            lgs_private(c, text, 1, "format");
            if (text && !c->failed)
                length = below ? lgs_taken_below(c, text, precision) : lgs_taken(text, precision, wide);
            struct lgs_block copy = lgs_room(c, 0, length + 1);
            if (copy.here && text) {
                lgs_put(copy.here, text, length);
                lgs_clear(lgs_far(copy.here, length), 1);
            }
            next = lgs_argument(next, text ? copy.inside : 0);
        } else if (*at && strchr(given, *at)) {
            const void *host = va_arg(arguments, void *);
            next = lgs_argument(next, lgs_inside(c, host, "format"));
            lgs_ends(c, host, "format");
        } else if (*at && strchr("diuxXocr", *at)) {
            next = lgs_argument(next, longs ? va_arg(arguments, uint64_t) : (uint64_t)(int64_t)va_arg(arguments, int));
        } else if (*at && strchr("eEfFgGaA", *at)) {
            double number = va_arg(arguments, double);
            uint64_t bits;
            memcpy(&bits, &number, sizeof bits);
            next = lgs_argument(next, bits);
        } else if (*at != '%') {
            lgs_fail(c, LG_STUB_SIZE, "format", "it has a conversion that cannot be passed on");
        }
        if (!*at)
            break;
    }
    va_end(arguments);
    struct lgs_va_list inside = {48, 304, body.inside, 0};
    lgs_put(head.here, &inside, sizeof inside);
    return head.inside;
}

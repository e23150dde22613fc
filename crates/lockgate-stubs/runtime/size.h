/* ---- sizes: exact, or an error of the call -------------------------------------------------------------------------- */

#define LGS_ARITHMETIC(name, builtin)                                                                                  \
    static inline lgs_wide lgs_##name(struct lgs_call *c, lgs_wide a, lgs_wide b)                                      \
    {                                                                                                                  \
        lgs_wide result = 0;                                                                                           \
        c->overflow |= builtin(a, b, &result);                                                                         \
        return result;                                                                                                 \
    }
LGS_ARITHMETIC(add, __builtin_add_overflow)
LGS_ARITHMETIC(subtract, __builtin_sub_overflow)
LGS_ARITHMETIC(multiply, __builtin_mul_overflow)

static inline lgs_wide lgs_divide(struct lgs_call *c, lgs_wide a, lgs_wide b)
{
    c->overflow |= b == 0;
    return b == 0 ? 0 : a / b;
}

static inline lgs_wide lgs_remainder(struct lgs_call *c, lgs_wide a, lgs_wide b)
{
    c->overflow |= b == 0;
    return b == 0 ? 0 : a % b;
}

/* Bytes of `count` elements. */
static inline size_t lgs_size(struct lgs_call *c, lgs_wide count, size_t element, const char *what)
{
    lgs_wide bytes = lgs_multiply(c, count, (lgs_wide)element);
    if (__builtin_expect(c->overflow || bytes < 0 || bytes > (lgs_wide)LGS_WINDOW, 0)) {
        lgs_fail(c, LG_STUB_SIZE, what, "its size is negative, overflows or is larger than a domain");
        return 0;
    }
    return (size_t)bytes;
}

/* Elements of what ends otherwise where no number is given. */
static inline lgs_wide lgs_count(struct lgs_call *c, lgs_wide count, const char *what)
{
    if (__builtin_expect(c->overflow || count < 0, 0))
        lgs_fail(c, LG_STUB_SIZE, what, "its size is negative, overflows or is larger than a domain");
    return count;
}

/* What a function's result says is there: a negative one says that it has failed. */
static inline lgs_wide lgs_resulting(lgs_wide count)
{
    return count < 0 ? 0 : count;
}

/* Bytes of `count` elements that the library says are there, of `room`. */
static inline size_t lgs_length(struct lgs_call *c, lgs_wide count, size_t element, size_t room, const char *what)
{
    lgs_wide bytes = lgs_multiply(c, count, (lgs_wide)element);
    if (__builtin_expect(c->overflow || bytes < 0 || bytes > (lgs_wide)room, 0)) {
        lgs_fail(c, LG_STUB_LENGTH, what, bytes < 0 ? "the library says that less than nothing is there" : "the library says that more is there than fits");
        return 0;
    }
    return (size_t)bytes;
}

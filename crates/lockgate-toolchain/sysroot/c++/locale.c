/* libstdc++'s and libc++'s locales. They were compiled for glibc, look at three members of what newlocale gives, and ask nl_langinfo_l for
   more than musl knows. These functions stand in for them alone (lockgate-toolchain, src/cxx.rs): a locale of theirs is one of musl's
   with more behind it. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

const unsigned short **__ctype_b_loc(void);
const int **__ctype_tolower_loc(void), **__ctype_toupper_loc(void);

/* musl's src/internal/locale_impl.h, and behind it glibc's bits/types/__locale_t.h. */
enum { CATEGORIES = 6, GLIBC_CATEGORIES = 13 };
struct locale {
    const void *categories[CATEGORIES];
    const void *unused[GLIBC_CATEGORIES - CATEGORIES];
    const unsigned short *classes;
    const int *lower, *upper;
    const char *names[GLIBC_CATEGORIES];
};

/* In memory of its own: no two locales are one. */
static locale_t extended(locale_t plain) {
    struct locale *locale = calloc(1, sizeof *locale);
    if (!locale) return 0;
    memcpy(locale->categories, plain, sizeof locale->categories);
    locale->classes = *__ctype_b_loc();
    locale->lower = *__ctype_tolower_loc();
    locale->upper = *__ctype_toupper_loc();
    return (locale_t)locale;
}

/* Whether there is a locale with this name, or with each of several: `C;POSIX`, `LC_CTYPE=C;LC_TIME=POSIX`. musl takes any name for C's;
   a program that asks for another is told that it is not installed. */
static int is_there(const char *name) {
    static const char *const names[] = {"", "C", "POSIX", "C.UTF-8", "C.utf8"};
    for (;;) {
        size_t length = strcspn(name, ";"), there = 0;
        const char *value = memchr(name, '=', length);
        size_t skipped = value ? value + 1 - name : 0;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            there |= strlen(names[i]) == length - skipped && !memcmp(names[i], name + skipped, length - skipped);
        if (!there) return 0;
        if (!name[length]) return 1;
        name += length + 1;
    }
}

locale_t _lg_newlocale(int mask, const char *name, locale_t base) {
    if (!is_there(name)) {
        errno = ENOENT;
        return 0;
    }
    /* The old way to say all. */
    if (mask == 1 << LC_ALL) mask = LC_ALL_MASK;
    if (base) return newlocale(mask, name, base);
    locale_t plain = newlocale(mask, name, 0);
    if (!plain) return 0;
    locale_t locale = extended(plain);
    freelocale(plain);
    return locale;
}

locale_t _lg_duplocale(locale_t locale) { return extended(locale); }

void _lg_freelocale(locale_t locale) { free(locale); }

/* Items of glibc's <langinfo.h>: all are as in the C locale, like those that musl has. */
enum {
    GROUPING = 0x10002,
    DECIMAL_POINT_WIDE = 0x10003,
    THOUSANDS_WIDE = 0x10004,
    FIRST_WIDE = 0x20034,
    FIRST_MONEY = 0x40000,
    FIRST_MONEY_NUMBER = 0x40007,
    LAST_MONEY_NUMBER = 0x4000e,
    MONEY_CURRENCY = 0x4000f,
    FIRST_MONEY_INTERNATIONAL = 0x40010,
    LAST_MONEY_INTERNATIONAL = 0x40015,
    MONEY_DECIMAL_POINT_WIDE = 0x4002b,
    MONEY_THOUSANDS_WIDE = 0x4002c,
};

static const wchar_t *const wide[] = {
    L"Sun", L"Mon", L"Tue", L"Wed", L"Thu", L"Fri", L"Sat",
    L"Sunday", L"Monday", L"Tuesday", L"Wednesday", L"Thursday", L"Friday", L"Saturday",
    L"Jan", L"Feb", L"Mar", L"Apr", L"May", L"Jun", L"Jul", L"Aug", L"Sep", L"Oct", L"Nov", L"Dec",
    L"January", L"February", L"March", L"April", L"May", L"June",
    L"July", L"August", L"September", L"October", L"November", L"December",
    L"AM", L"PM",
    L"%a %b %e %H:%M:%S %Y", L"%m/%d/%y", L"%H:%M:%S", L"%I:%M:%S %p",
    L"", L"", L"", L"", L"", /* eras, and other digits */
};

/* glibc returns some wide characters in place of a pointer. */
static char *character(wchar_t value) { return (char *)(unsigned long)(unsigned)value; }

char *_lg_nl_langinfo_l(nl_item item, locale_t locale) {
    static char unknown[] = {CHAR_MAX, 0};
    switch (item) {
    case DECIMAL_POINT_WIDE: return character(L'.');
    case THOUSANDS_WIDE: case MONEY_DECIMAL_POINT_WIDE: case MONEY_THOUSANDS_WIDE: return character(0);
    case GROUPING: case MONEY_CURRENCY: return (char *)"";
    default: break;
    }
    if (item >= FIRST_WIDE && (size_t)(item - FIRST_WIDE) < sizeof wide / sizeof *wide) return (char *)wide[item - FIRST_WIDE];
    if (item >= FIRST_MONEY && item < FIRST_MONEY_NUMBER) return (char *)"";
    if (item >= FIRST_MONEY_NUMBER && item <= LAST_MONEY_NUMBER) return unknown;
    if (item >= FIRST_MONEY_INTERNATIONAL && item <= LAST_MONEY_INTERNATIONAL) return unknown;
    return nl_langinfo_l(item, locale);
}

/* libffi: functions whose types are known at run time, with arguments and results of each kind, in registers and on the stack. */
#include <complex.h>
#include <ffi.h>
#include <stdio.h>
#include <string.h>

struct word_double { long a; double b; };
struct double_word { double a; long b; };
struct words { long a, b; };
struct doubles { double a, b; };
struct bytes { char c[3]; };
struct large { long v[5]; };

static double many(int a, long b, char c, short d, long e, long f, long g, float h, double i, long j, double k, double l, double m,
                   double n, double o, double p, double q)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l + 13 * m + 14 * n + 15 * o
        + 16 * p + 17 * q;
}
static long seven(long a, long b, long c, long d, long e, long f, long g) { return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g; }
static long by_value(struct large large, int x) { return large.v[0] + large.v[4] + x; }

static signed char int8(int x) { return (signed char)x; }
static unsigned char uint8(int x) { return (unsigned char)x; }
static short int16(int x) { return (short)x; }
static unsigned short uint16(int x) { return (unsigned short)x; }
static int int32(int x) { return x; }
static unsigned uint32(int x) { return (unsigned)x; }
static long int64(int x) { return x; }
static float single(int x) { return x + .5f; }
static double dbl(int x) { return x + .25; }
static long double extended(int x) { return x + .125L; }
static _Complex long double complex_extended(int x) { return x + 2.5L * I; }
static struct word_double word_double(int x) { return (struct word_double){x, x + .5}; }
static struct double_word double_word(int x) { return (struct double_word){x + .5, -x}; }
static struct words words(int x) { return (struct words){x, -x}; }
static struct doubles doubles(int x) { return (struct doubles){x, -x}; }
static struct bytes bytes(int x) { return (struct bytes){{x, x + 1, x + 2}}; }
static struct large large(int x) { return (struct large){{x, x + 1, x + 2, x + 3, x + 4}}; }
static int seen;
static void nothing(int x) { seen = x; }

/* Calls a function of an int, and shows the bytes of its result and some behind it. */
static void show(const char *name, ffi_type *type, void (*function)(void))
{
    ffi_cif cif;
    ffi_type *types[] = {&ffi_type_sint};
    int x = -300;
    void *values[] = {&x};
    unsigned char result[64];
    memset(result, 0xee, sizeof result);
    if (ffi_prep_cif(&cif, FFI_DEFAULT_ABI, 1, type, types) != FFI_OK)
        return;
    ffi_call(&cif, function, result, values);
    printf("%s", name);
    for (int i = 0; i < 48; i++)
        printf(" %02x", result[i]);
    puts("");
}

int main(void)
{
#define STRUCTURE(name, ...) \
    ffi_type *name##_members[] = {__VA_ARGS__, 0}; \
    ffi_type name##_type = {0, 0, FFI_TYPE_STRUCT, name##_members}
    ffi_type *word = &ffi_type_slong, *real = &ffi_type_double, *byte = &ffi_type_schar;
    STRUCTURE(word_double, word, real);
    STRUCTURE(double_word, real, word);
    STRUCTURE(words, word, word);
    STRUCTURE(doubles, real, real);
    STRUCTURE(bytes, byte, byte, byte);
    STRUCTURE(large, word, word, word, word, word);
#define SHOW(function, type) show(#function, type, FFI_FN(function))
    SHOW(int8, &ffi_type_schar);
    SHOW(uint8, &ffi_type_uchar);
    SHOW(int16, &ffi_type_sshort);
    SHOW(uint16, &ffi_type_ushort);
    SHOW(int32, &ffi_type_sint);
    SHOW(uint32, &ffi_type_uint);
    SHOW(int64, word);
    SHOW(single, &ffi_type_float);
    SHOW(dbl, real);
    SHOW(extended, &ffi_type_longdouble);
    SHOW(complex_extended, &ffi_type_complex_longdouble);
    SHOW(word_double, &word_double_type);
    SHOW(double_word, &double_word_type);
    SHOW(words, &words_type);
    SHOW(doubles, &doubles_type);
    SHOW(bytes, &bytes_type);
    SHOW(large, &large_type);
    SHOW(nothing, &ffi_type_void);
    printf("seen %d\n", seen);

    ffi_cif cif;
    int a = 1;
    long b = 2, e = 5, f = 6, g = 7, j = 10;
    char c = 3;
    short d = 4;
    float h = 8;
    double i = 9, k = 11, l = 12, m = 13, n = 14, o = 15, p = 16, q = 17, sum;
    ffi_type *types[] = {&ffi_type_sint, word, byte, &ffi_type_sshort, word, word, word, &ffi_type_float, real, word,
                         real, real, real, real, real, real, real};
    void *values[] = {&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, &l, &m, &n, &o, &p, &q};
    ffi_prep_cif(&cif, FFI_DEFAULT_ABI, 17, real, types);
    ffi_call(&cif, FFI_FN(many), &sum, values);
    printf("many %g\n", sum);

    /* One word on the stack, which is aligned to two. */
    ffi_type *seven_types[] = {word, word, word, word, word, word, word};
    void *seven_values[] = {&b, &e, &f, &g, &j, &b, &e};
    long result;
    ffi_prep_cif(&cif, FFI_DEFAULT_ABI, 7, word, seven_types);
    ffi_call(&cif, FFI_FN(seven), &result, seven_values);
    printf("seven %ld\n", result);

    struct large value = {{1, 2, 3, 4, 5}};
    ffi_type *by_value_types[] = {&large_type, &ffi_type_sint};
    void *by_value_values[] = {&value, &a};
    ffi_prep_cif(&cif, FFI_DEFAULT_ABI, 2, word, by_value_types);
    ffi_call(&cif, FFI_FN(by_value), &result, by_value_values);
    printf("by value %ld\n", result);

    char text[64], *place = text;
    const char *form = "%.2f %d %.1f";
    ffi_type *print_types[] = {&ffi_type_pointer, &ffi_type_pointer, real, &ffi_type_sint, real};
    void *print_values[] = {&place, &form, &i, &a, &k};
    ffi_arg length;
    ffi_prep_cif_var(&cif, FFI_DEFAULT_ABI, 2, 5, &ffi_type_sint, print_types);
    ffi_call(&cif, FFI_FN(sprintf), &length, print_values);
    printf("%s (%d)\n", text, (int)length);
    return 0;
}

// Computed gotos: an interpreter with a static table, and labels in a local one.
#include <stdio.h>
static __attribute__((noinline)) long run(const unsigned char *p, long acc) {
    static const void *const t[] = {&&add, &&sub, &&mul, &&halt, &&dup, &&swap};
    long st[32];
    int sp = 0;
    st[0] = acc;
    goto *t[*p++];
add:
    st[sp] += *p++;
    goto *t[*p++];
sub:
    st[sp] -= *p++;
    goto *t[*p++];
mul:
    st[sp] *= *p++;
    goto *t[*p++];
dup:
    st[sp + 1] = st[sp];
    sp++;
    goto *t[*p++];
swap : {
    long x = st[sp];
    st[sp] = st[sp - 1];
    st[sp - 1] = x;
}
    goto *t[*p++];
halt:
    return st[sp] * 1000 + st[0];
}
static __attribute__((noinline)) int loc(int n) {
    void *t[3];
    t[0] = &&a;
    t[1] = &&b;
    t[2] = &&c;
    int r = 0;
    for (int i = 0; i < n; i++) {
        goto *t[i % 3];
    a:
        r += 1;
        continue;
    b:
        r += 10;
        continue;
    c:
        r *= 3;
    }
    return r;
}
// Tables that are read as data, given away, written, chosen, and shared with a direct jump; frames of computed size; cold parts.
static __attribute__((noinline)) const void *const *given(const void *const *t, int i) { return t + i; }
static __attribute__((noinline, cold)) unsigned seldom(unsigned x) { return x * 31 + 1; }
static __attribute__((noinline)) long data(const unsigned char *p, const void **stored) {
    static const void *const t[] = {&&add, &&keep, &&back, &&give, &&halt};
    long r = 1;
#define NEXT goto *t[*p++]
    NEXT;
add:
    r = r * 3 + *p++;
    NEXT;
keep:
    *stored = t[*p++];
    NEXT;
back:
    r += 1000;
    p++;
    goto **stored;
give:
    r ^= given(t, *p)[0] == t[*p];
    p++;
    NEXT;
halt:
    return r;
}
static __attribute__((noinline)) long index_lives(const unsigned char *p) {
    static const void *const t[] = {&&a, &&b, &&c, &&d, &&e, &&e, &&e};
    unsigned r = 0;
    unsigned char op;
#define INDEX op = *p++; goto *t[op]
    INDEX;
a:
    r += op + 1;
    INDEX;
b:
    r = r * 7 + op;
    INDEX;
c:
    if (__builtin_expect(r > 100000, 0))
        r = seldom(r);
    INDEX;
d:
    return r * 10 + op;
e:
    r -= op;
    INDEX;
}
static __attribute__((noinline)) long chosen(const unsigned char *p, int other) {
    static const void *const t[] = {&&a, &&b, &&halt};
    static const void *const u[] = {&&b, &&a, &&halt};
    static const void *written[] = {&&a, &&a, &&halt};
    const void *const *tables[] = {t, u, written};
    const void *const *now = tables[other];
    long r = 0;
    goto *now[*p++];
a:
    r = r * 2 + 1;
    if (r % 5 == 0)
        now = now == t ? u : t;
    goto *now[*p++];
b:
    r = r * 3;
    written[1] = &&b;
    goto *now[*p++];
halt:
    return r;
}
static __attribute__((noinline)) long arrays(const unsigned char *p, int n) {
    static const void *const t[] = {&&fill, &&sum, &&halt, &&larger};
    volatile int array[n];
    volatile int *now = array;
    long r = 0;
    goto *t[*p++];
fill:
    for (int i = 0; i < n; i++)
        now[i] = i * *p;
    p++;
    goto *t[*p++];
sum:
    for (int i = 0; i < n; i++)
        r += now[i];
    goto *t[*p++];
larger:
    now = __builtin_alloca(4 * (n + *p));
    n += *p++;
    goto *t[*p++];
halt:
    return r;
}
static __attribute__((noinline)) long grows(const unsigned char *p) {
    static const void *const t[] = {&&grow, &&use, &&halt};
    volatile char *now = (volatile char *)"start";
    long r = 0;
    goto *t[*p++];
grow:
    now = __builtin_alloca(*p);
    for (int i = 0; i < *p; i++)
        now[i] = i;
    p++;
    goto *t[*p++];
use:
    r = r * 5 + now[*p++];
    goto *t[*p++];
halt:
    return r;
}
int main() {
    unsigned char p[] = {0, 5, 4, 2, 3, 5, 1, 2, 4, 0, 9, 3};
    printf("%ld %d\n", run(p, 7), loc(11));
    const void *stored = 0;
    printf("%ld\n", data((unsigned char[]){0, 4, 3, 2, 1, 0, 2, 9, 5, 0, 1, 1, 4, 2, 0, 4}, &stored));
    unsigned char long_one[4000];
    for (int i = 0; i < 3999; i++)
        long_one[i] = (unsigned char[]){0, 1, 2, 4, 5, 6, 2}[(i * i + i / 3) % 7];
    long_one[3999] = 3;
    printf("%ld\n", index_lives(long_one));
    for (int i = 0; i < 3; i++)
        printf("%ld ", chosen((unsigned char[]){0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1, 2}, i));
    printf("%ld ", grows((unsigned char[]){1, 2, 0, 200, 1, 77, 0, 90, 1, 5, 2}));
    printf("%ld\n", arrays((unsigned char[]){0, 3, 1, 3, 100, 0, 5, 1, 1, 2}, 50));
}

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
int main() {
    unsigned char p[] = {0, 5, 4, 2, 3, 5, 1, 2, 4, 0, 9, 3};
    printf("%ld %d\n", run(p, 7), loc(11));
}

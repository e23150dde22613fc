// Function pointers in tables, structures and arguments.
#include <stdio.h>
#include <string.h>
static int f0(int x) { return x + 1; }
static int f1(int x) { return x * 2; }
static int f2(int x) { return x - 3; }
static int (*const tab[])(int) = {f0, f1, f2, f0};
static struct {
    const char *n;
    int (*f)(int);
    long pad;
} reg[] = {{"a", f0, 1}, {"b", f1, 2}, {"c", f2, 3}};
static int (*volatile hook)(int);
typedef int (*fn)(int);
__attribute__((noinline)) static fn pick(const char *s) {
    for (unsigned i = 0; i < 3; i++)
        if (!strcmp(reg[i].n, s)) return reg[i].f;
    return 0;
}
static int app(fn f, int n, int x) {
    while (n--) x = f(x);
    return x;
}
static int stat_cmp(void) {
    return (tab[0] == tab[3]) * 10 + (f0 == reg[0].f) + (pick("zz") == 0) * 100 + (f0 != f1) * 1000;
}
int main() {
    int r = 0;
    for (int i = 0; i < 4; i++) r = r * 17 + tab[i](i);
    hook = pick("c");
    r = r * 17 + hook(99);
    hook = f1;
    r = r * 17 + app(hook, 5, 3);
    fn loc[3] = {f2, f1, f0};
    for (int i = 0; i < 6; i++) r = r * 3 + loc[i % 3](r & 15);
    char b[16];
    fn g = f2;
    memcpy(b, &g, 8);
    fn h;
    memcpy(&h, b, 8);
    printf("%d %d %d\n", r, stat_cmp(), h(10));
}

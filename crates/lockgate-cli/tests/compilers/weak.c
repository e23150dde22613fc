// Weak functions and variables, aliases, weak references.
#include <stdio.h>
int maybe(int) __attribute__((weak));
extern int wv __attribute__((weak));
int strongw(int x) __attribute__((weak));
int strongw(int x) { return x + 1; }
static int impl(int x) { return x * 3; }
int al(int) __attribute__((alias("impl")));
int al2(int) __attribute__((weak, alias("impl")));
static int wr(int) __attribute__((weakref("impl2")));
int data = 4;
extern int dal __attribute__((alias("data")));
int main() {
    int (*volatile f)(int) = maybe;
    printf("%d %d %d %d %d %d\n", f ? f(1) : -1, &wv ? 1 : 0, strongw(4), al(5), al2(6), wr ? 1 : 0);
    dal = 9;
    printf("%d %d\n", data, maybe ? maybe(2) : -2);
}

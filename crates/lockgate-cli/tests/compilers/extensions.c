// Cleanup functions, statement expressions, designated initialisers.
#include <stdio.h>
#include <stdlib.h>
static void cl(int *p) { printf("c%d ", *p); }
__attribute__((noinline)) static int f(int n) {
    int a __attribute__((cleanup(cl))) = n;
    for (int i = 0; i < 3; i++) {
        int b __attribute__((cleanup(cl))) = i * 10 + n;
        if (i == n) return i;
        if (i == 1) continue;
    }
    return -1;
}
__attribute__((noinline)) static int stmt(int x) {
    return ({
        int y = x * 2;
        typeof(y) z = y + 1;
        z > 5 ? z : ({
            int q = y;
            q *q;
        });
    });
}
static int arr[] = {[5] = 9, [2] = 4, [7 ... 9] = 1};
struct fl {
    int n;
    int a[];
};
int main() {
    int r = f(0);
    r = r * 10 + f(2);
    r = r * 10 + f(5);
    struct fl *p = malloc(sizeof *p + 40);
    p->n = 10;
    for (int i = 0; i < 10; i++) p->a[i] = i * arr[i];
    int s = 0;
    for (int i = 0; i < 10; i++) s += p->a[i];
    printf("%d %d %d %d %zu\n", r, stmt(1), stmt(7), s, sizeof arr);
    int k = 0;
L:
    if (k++ < 3) goto L;
    printf("%d\n", k);
}

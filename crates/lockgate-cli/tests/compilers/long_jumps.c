// setjmp and longjmp, nested and across frames.
#include <setjmp.h>
#include <stdio.h>
static jmp_buf e;
static sigjmp_buf se;
static int d;
__attribute__((noinline)) static void deep(int n) {
    volatile char pad[100];
    pad[0] = n;
    d++;
    if (n == 0) longjmp(e, d);
    deep(n - 1);
    pad[1] = 1;
}
__attribute__((noinline)) static int tr(int n) {
    volatile int k = 0;
    int r = setjmp(e);
    if (r) {
        k += r;
        if (k > 30) return k;
    }
    k++;
    deep(n);
    return -1;
}
__attribute__((noinline)) static int bj(int n) {
    void *b[5];
    volatile int c = n;
    if (__builtin_setjmp(b)) { return c; }
    c += 5;
    if (n) __builtin_longjmp(b, 1);
    return 0;
}
int main() {
    int r = 0;
    for (int i = 1; i < 6; i++) r = r * 7 + tr(i);
    volatile int z = 0;
    if (sigsetjmp(se, 1) == 0) {
        z = 4;
        siglongjmp(se, 3);
    }
    printf("%d %d\n", r, z);
}

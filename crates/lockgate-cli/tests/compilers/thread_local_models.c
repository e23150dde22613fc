// Thread-local variables of every model.
#include <stdio.h>
#include <string.h>
__thread int gd = 5;
static __thread long ld[3] = {1, 2, 3};
__thread char big[5000];
static __thread struct {
    double d;
    char c[13];
} s = {2.5, "abc"};
_Thread_local int __attribute__((aligned(64))) al = 9;
extern __thread int gd2 __attribute__((tls_model("global-dynamic")));
__thread int gd2 = 77;
static __thread int ie __attribute__((tls_model("initial-exec"))) = 13;
static __thread int ldm __attribute__((tls_model("local-dynamic"))) = 17,
                        ldm2 __attribute__((tls_model("local-dynamic"))) = 19;
__attribute__((noinline)) int *pgd(void) { return &gd; }
__attribute__((noinline)) long sum(int i) {
    ld[i] += gd++;
    return ld[0] + ld[1] + ld[2];
}
int main() {
    memset(big, 7, sizeof big);
    printf("%ld %ld %d %d %d %g %s %d %d %d %d %d\n", sum(0), sum(2), *pgd(), big[4999], al, s.d, s.c,
           ((unsigned long)&al) % 64 == 0, gd2, ie, ldm, ldm2);
    gd2 += 3;
    ldm *= ldm2;
    int *p = &ldm2;
    *p += 1;
    printf("%d %d %d\n", gd2, ldm, ldm2);
}

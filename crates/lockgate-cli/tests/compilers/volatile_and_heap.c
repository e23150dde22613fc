// Volatile accesses, errno, and the heap.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static volatile int v[8];
int errno_test(void) {
    errno = 0;
    strtol("99999999999999999999", 0, 10);
    return errno == ERANGE;
}
__attribute__((noinline)) static void wr(volatile int *p) {
    p[1] += 3;
    p[2] = p[1]++;
    p[3] -= p[2]--;
    p[0] = p[3] << p[1];
}
extern char **environ;
int main(int argc, char **argv) {
    for (int i = 0; i < 5; i++) wr((int *)v + 1);
    for (int i = 0; i < 8; i++) printf("%d ", v[i]);
    printf("%d %d\n", errno_test(), argc);
    void *p[50];
    for (int i = 0; i < 50; i++) {
        p[i] = malloc(i * 1000 + 1);
        memset(p[i], i, i * 1000 + 1);
    }
    for (int i = 0; i < 50; i += 2) p[i] = realloc(p[i], i * 3000 + 5);
    int s = 0;
    for (int i = 0; i < 50; i++) {
        s += ((unsigned char *)p[i])[i * 1000];
        free(p[i]);
    }
    void *q;
    int e = posix_memalign(&q, 4096, 100);
    printf("%d %d %d\n", s, e, (int)((unsigned long)q % 4096));
    char *al = aligned_alloc(64, 256);
    printf("%d\n", (int)((unsigned long)al % 64));
}

/* A program whose functions other processes call, for tests of `lockgate up --share`. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long counted;
long count(long n) { return counted += n; }
long crash(long n) { return *(volatile long *)n; }
long leave(long n) { exit((int)n); }
long loop(long n) { for (volatile long i = 0; n; i++) ; return 0; }

/* At any time: other calls may be here meanwhile. */
static volatile int inside;
long doze(long ms) {
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    __atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST);
    nanosleep(&left, 0);
    return __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
}
long dozing(long n) { return inside + n; }

double mean(double a, float b, _Bool half) { return half ? (a + b) / 2 : a + b; }
struct pair { long a; double b; };
struct pair twice(struct pair p) { p.a *= 2; p.b *= 2; return p; }

unsigned sum(const unsigned char *data, size_t n) {
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) sum += data[i];
    return sum;
}
int reverse(int n, char *text) {
    for (int i = 0; i < n / 2; i++) { char c = text[i]; text[i] = text[n - 1 - i]; text[n - 1 - i] = c; }
    return n;
}
/* What a text was when a call had slept. */
static volatile long was;
int slow_reverse(long ms, int n, char *text) {
    doze(ms);
    was = sum((unsigned char *)text, n);
    return reverse(n, text);
}
long told(long n) { return was + n; }
long first(const long *numbers, unsigned n) { return n ? numbers[0] : -1; }

int main(void) {
    puts("serves");
    fflush(stdout);
    for (;;) poll(0, 0, -1);
}

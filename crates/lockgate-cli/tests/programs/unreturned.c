// Calls that do not return, in frames of every kind: what stands behind them belongs to somebody else, to another function's cold part
// for instance, and has another stack.
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

static jmp_buf back;

__attribute__((noinline)) static unsigned sum(const void *bytes, unsigned long size) {
    const unsigned char *byte = bytes;
    unsigned sum = 0;
    for (unsigned long at = 0; at < size; at++) sum = sum * 31 + byte[at];
    return sum;
}

__attribute__((noinline)) static void fill(void *bytes, int value, unsigned long size) { memset(bytes, value, size); }

__attribute__((noinline, noreturn)) static void leave(int result) { longjmp(back, result + 1); }

// Its last arguments are on the stack.
__attribute__((noinline, noreturn, cold)) void fail(const char *what, int result, int a, int b, int c, int d, int e, int f) {
    printf("%s %d\n", what, a + b + c + d + e + f);
    longjmp(back, result + 1);
}

#define CHECK(condition, result) \
    do { \
        if (__builtin_expect(!(condition), 0)) fail(#condition, result, 1, 2, 3, 4, 5, 6); \
    } while (0)

__attribute__((noinline)) int constant(int n) {
    char bytes[16];
    fill(bytes, n, sizeof bytes);
    CHECK(n != 3, 3);
    int result = sum(bytes, sizeof bytes);
    CHECK(n < 7, n);
    if (n == 5) leave(result & 15);
    return result;
}

__attribute__((noinline)) int variable(int n) {
    char bytes[n];
    fill(bytes, n, n);
    CHECK(n != 3, 3);
    int result = sum(bytes, n);
    CHECK(n < 7, n);
    if (n == 5) leave(result & 15);
    char more[(result & 31) + 1];
    fill(more, 1, sizeof more);
    CHECK(more[0] != 2, 9);
    return result + sum(more, sizeof more);
}

__attribute__((noinline)) int aligned(int n) {
    _Alignas(64) char bytes[64];
    fill(bytes, n, sizeof bytes);
    CHECK(n != 3, 3);
    int result = sum(bytes, sizeof bytes);
    CHECK(n < 7, n);
    if (n == 5) leave(result & 15);
    return result + ((unsigned long)bytes & 63);
}

// Where nothing is on the stack yet.
__attribute__((noinline)) int none(int n) {
    if (n == 1) return 3;
    if (n == 2) {
    failed:
        fail("none", n, 0, 0, 0, 0, 0, 0);
    }
    if (n == 9) goto failed;
    return n;
}

__attribute__((noinline)) int cases(int n) {
    switch (n) {
    case 0: return n + 7;
    case 1: return n * 3;
    case 2: fail("two", n, 1, 2, 3, 4, 5, 6);
    case 3: return n ^ 5;
    case 4: leave(n);
    case 5: {
        char bytes[n + 1];
        fill(bytes, n, sizeof bytes);
        return sum(bytes, sizeof bytes);
    }
    case 6: return n - 9;
    case 7: n += 2; break;
    case 8: n *= n; break;
    default: fail("default", n, 1, 1, 1, 1, 1, 1);
    }
    return n + constant(n & 1);
}

__attribute__((noinline)) int loop(int n) {
    int result = 0;
    for (int i = 0; i < n; i++) {
        if (__builtin_expect(i == 5, 0)) {
            char bytes[2 * i];
            fill(bytes, i, sizeof bytes);
            result += sum(bytes, i);
            if (result & 1) fail("odd", i, result & 1, 2, 3, 4, 5, 6);
        }
        result += i;
    }
    return result;
}

int main(void) {
    static int (*const functions[])(int) = {constant, variable, aligned, none, cases, loop};
    for (volatile unsigned which = 0; which < sizeof functions / sizeof *functions; which++) {
        for (volatile int n = 1; n < 11; n++) {
            int result = setjmp(back);
            if (result == 0) printf("%u of %d: %d\n", which, n, functions[which](n));
            else printf("%u of %d left with %d\n", which, n, result);
        }
    }
    return 0;
}

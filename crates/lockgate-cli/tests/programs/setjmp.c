/* Functions that return twice, in the ways that programs use them. */
#include <alloca.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

static jmp_buf outer, inner;
static sigjmp_buf with_mask;

static __attribute__((noinline)) void deep(int levels, int value) {
    char frame[300];
    memset(frame, levels, sizeof frame);
    if (levels == 0) longjmp(outer, value);
    deep(levels - 1, value);
    printf("never %d\n", frame[5]);
}

static __attribute__((noinline)) int nested(int x) {
    int value = setjmp(inner);
    if (value == 0) {
        char *block = alloca(1000 + x);
        memset(block, 1, 1000);
        longjmp(inner, 5 + block[10]);
    }
    return value + x;
}

/* Locals that live across the jump, kept in callee-saved registers or memory. */
static __attribute__((noinline)) long counted(long a, long b, long c) {
    volatile int count = 0;
    long sum = a * 3 + b * 5 + c * 7;
    int value = setjmp(outer);
    count++;
    if (value < 10) deep(value, value + 1);
    return sum + value * 1000 + count * 100000;
}

int main(void) {
    printf("%ld\n", counted(1, 2, 3));
    for (int i = 0; i < 3; i++) printf("%d\n", nested(i));
    int value = sigsetjmp(with_mask, 1);
    printf("sigsetjmp %d\n", value);
    if (value < 3) siglongjmp(with_mask, value + 1);
    if ((value = _setjmp(outer)) == 0) _longjmp(outer, 0);
    printf("zero becomes %d\n", value);
    for (int i = 0; i < 100000; i++)
        if (setjmp(inner) == 0) longjmp(inner, 1);
    puts("done");
    return 0;
}

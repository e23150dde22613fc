// Two functions that set one jump buffer after the other, at the same depth of the stack.
#include <setjmp.h>
#include <stdio.h>

static jmp_buf buffer;

__attribute__((noipa)) static void leave(void) { longjmp(buffer, 1); }

__attribute__((noipa)) static int first(int x) {
    volatile int kept = x;
    if (setjmp(buffer)) return kept + 100;
    leave();
    return 0;
}

__attribute__((noipa)) static int second(int x) {
    volatile int kept = x;
    if (_setjmp(buffer)) return kept + 200;
    leave();
    return 0;
}

int main(void) {
    int a = first(1);
    int b = second(2);
    printf("%d %d\n", a, b);
    return 0;
}

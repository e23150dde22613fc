// Functions inside functions.
#include <stdio.h>
__attribute__((noinline)) static int outer(int n) {
    int acc = 0;
    __attribute__((noinline)) void inner(int k) {
        acc += k * n;
        if (k) inner(k - 1);
    }
    inner(n);
    inner(3);
    return acc;
}
int main() { printf("%d %d\n", outer(5), outer(11)); }

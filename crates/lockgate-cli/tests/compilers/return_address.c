// The return address as a value.
#include <stdio.h>
__attribute__((noinline)) static int f(void) {
    void *volatile r = __builtin_extract_return_addr(__builtin_return_address(0));
    return r != 0;
}
int main() { printf("%d\n", f()); }

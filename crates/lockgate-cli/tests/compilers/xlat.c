// Table look-up by xlat.
#include <stdio.h>
static unsigned char t[256];
__attribute__((noinline)) int xl(const unsigned char *p, unsigned char c) {
    unsigned char a = c;
    __asm__ volatile("xlatb" : "+a"(a) : "b"(p) : "memory");
    return a;
}
int main() {
    for (int i = 0; i < 256; i++) t[i] = i * 7 + 1;
    int h = 0;
    for (int i = 0; i < 256; i++) h = h * 31 + xl(t, i);
    h = h * 31 + xl(t + 100, 155);
    printf("%d\n", h);
}

// Switches over wide, negative, narrow and interleaved cases.
#include <stdint.h>
#include <stdio.h>
#define N __attribute__((noinline))
static N int s1(uint64_t x) {
    switch (x) {
    case 0x100000000ull:
        return 1;
    case 0x100000001ull:
        return 2;
    case 0x100000002ull:
        return 3;
    case 0x100000003ull:
        return 4;
    case 0x100000004ull:
        return 5;
    case 0x100000005ull:
        return 6;
    case 0x100000006ull:
        return 9;
    case 0:
        return 7;
    default:
        return 8;
    }
}
static N int s2(int64_t x) {
    switch (x) {
    case -3:
        return 1;
    case -2:
        return 2;
    case -1:
        return 3;
    case 0:
        return 4;
    case 1:
        return 5;
    case 2:
        return 6;
    case 3:
        return 16;
    case 4:
        return 26;
    case 5:
        return 36;
    default:
        return 7;
    }
}
static N const char *s3(unsigned char c) {
    switch (c) {
    case 'a' ... 'f':
        return "hex";
    case '0' ... '9':
        return "dig";
    case 250:
        return "x";
    case 251:
        return "y";
    case 252:
        return "z";
    case 253:
        return "w";
    case 254:
        return "v";
    case 255:
        return "u";
    }
    return "?";
}
static N int s4(int x, int y) {
    int r = 0;
    switch (x) {
    case 0:
        r = 1;
        while (y-- > 0) {
        case 1:
            r += y;
        case 2:
            r ^= 5;
        case 3:
            r *= 3;
        case 4:
            r += 2;
        case 5:
            r -= 1;
        }
    }
    return r;
}
static N int s5(short x) {
    switch (x) {
    case -32768:
        return 1;
    case -32767:
        return 2;
    case -32766:
        return 3;
    case -32765:
        return 4;
    case -32764:
        return 5;
    case -32763:
        return 55;
    case 32767:
        return 6;
    }
    return 0;
}
int main() {
    uint64_t v[] = {
        0, 1, 0x100000000ull, 0x100000003ull, 0x100000006ull, 0x100000007ull, ~0ull, 0x200000001ull};
    for (int i = 0; i < 8; i++) printf("%d %d ", s1(v[i]), s2((int64_t)v[i]));
    for (int i = -5; i < 7; i++) printf("%d ", s2(i));
    for (int i = 0; i < 256; i += 5) printf("%s", s3(i));
    for (int i = 0; i < 7; i++) printf(" %d", s4(i, 6));
    for (int i = 0; i < 9; i++) printf(" %d", s5(-32768 + i));
    printf(" %d\n", s5(32767));
}

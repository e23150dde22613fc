// Switches with many cases, in each other.
#include <stdio.h>
#include <stdlib.h>
#define C(n) \
    case n: \
        acc = acc * 31 + n; \
        acc ^= acc >> 7; \
        break;
#define C10(n) C(n) C(n + 1) C(n + 2) C(n + 3) C(n + 4) C(n + 5) C(n + 6) C(n + 7) C(n + 8) C(n + 9)
__attribute__((noinline)) static unsigned step(unsigned op, unsigned acc) {
    switch (op) {
        C10(0) C10(10) C10(20) C10(30) C10(40) C10(100) C10(110) C(70) C(1000) default : acc += op;
    }
    return acc;
}
__attribute__((noinline)) static int two(unsigned char a, signed char b) {
    switch (a) {
    case 0:
        switch (b) {
        case -2:
            return 1;
        case -1:
            return 2;
        case 0:
            return 3;
        case 1:
            return 4;
        case 2:
            return 5;
        case 3:
            return 56;
        }
        return 6;
    case 1:
        return 7;
    case 2:
        return 8;
    case 3:
        return 9;
    case 4:
        return 10;
    case 5:
        switch (b & 7) {
        case 0:
            return 11;
        case 1:
            return 12;
        case 2:
            return 13;
        case 3:
            return 14;
        case 4:
            return 15;
        case 5:
            return 16;
        case 6:
            return 17;
        case 7:
            return 18;
        }
    }
    return 19;
}
__attribute__((noinline)) static const char *nm(int e) {
    switch (e) {
    case 1:
        return "one";
    case 2:
        return "two";
    case 3:
        return "three";
    case 4:
        return "four";
    case 5:
        return "five";
    case 6:
        return "six";
    default:
        return "many";
    }
}
int main() {
    unsigned a = 1;
    for (unsigned i = 0; i < 1100; i += 3) a = step(i, a);
    a = step(-1, a);
    a = step(0x80000000u, a);
    int s = 0;
    for (int i = 0; i < 8; i++)
        for (int j = -4; j < 5; j++) s = s * 3 + two(i, j);
    printf("%u %d", a, s);
    for (int i = -1; i < 9; i++) printf(" %s", nm(i));
    puts("");
}

// Formats of printf and scanf, and other conversions of text.
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <wchar.h>
int main() {
    char b[100];
    long a;
    double d;
    int n;
    sscanf("42 3.25 xyz", "%ld %lf %3s%n", &a, &d, b, &n);
    printf("%ld %g %s %d\n", a, d, b, n);
    printf("%5d|%-5d|%05d|%x|%o|%+d|%c|%%|%10.3s|%-8s|%p\n", 42, 42, 42, 255, 8, 5, 'z', "abcdef", "hi",
           (void *)0x10);
    printf("%ld %lu %lld\n", strtol("-0x1f", 0, 0), strtoul("777", 0, 8), atoll("9999999999"));
    struct tm t = {.tm_year = 100, .tm_mon = 1, .tm_mday = 29, .tm_hour = 12};
    strftime(b, 100, "%Y-%m-%d %j %a", &t);
    puts(b);
    wchar_t w[20];
    swprintf(w, 20, L"%ls-%d", L"wide", 7);
    printf("%d\n", (int)wcslen(w));
    div_t q = div(-17, 5);
    printf("%d %d %.3g\n", q.quot, q.rem, strtod("1e-3x", 0));
    srand(1);
}

// Data and code in sections of their own.
#include <stdio.h>
typedef int (*fn)(void);
#define REG(f) \
    static int f(void); \
    static fn const p_##f __attribute__((section("mytab"), used)) = f; \
    static int f(void)
REG(one) { return 1; }
REG(two) { return 20; }
REG(three) { return 300; }
extern const fn __start_mytab[], __stop_mytab[];
__attribute__((section(".text.hot2"), noinline)) int hot(int x) { return x + 1; }
__attribute__((cold, noinline)) int cold(int x) { return x * 5; }
int common_;
static const char *const strs[] = {"a", "bb", "ccc"};
static const int __attribute__((section("myro"))) ro[3] = {7, 8, 9};
int main() {
    int s = 0;
    for (const fn *p = __start_mytab; p < __stop_mytab; p++) s += (*p)();
    printf("%d %d %d %d %s %d\n", s, hot(1), cold(2), common_, strs[2], ro[1]);
}

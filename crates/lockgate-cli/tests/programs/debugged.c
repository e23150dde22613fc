// What tests/gdb.rs stops in. Line numbers matter: each place is marked.
#include <stddef.h>
#include <unistd.h>

struct point {
    int x, y;
};

static int callback_depth;

__attribute__((noinline)) int area(const struct point *points, int count, const char *name)
{
    int total = 0;
    for (int i = 0; i < count; i++)
        total += points[i].x * points[i].y; // SUM
    if (name == NULL)
        *(volatile int *)16 = total; // FAULT
    return total + callback_depth;
}

__attribute__((noinline)) int descend(int depth, const char *name)
{
    struct point points[3] = {{1, 2}, {3, 4}, {5, depth}};
    if (depth > 0)
        return descend(depth - 1, name) + 1; // DESCENT
    return area(points, 3, name); // LAST
}

// Frames of many kinds: of a size that is known when it runs, large, with arguments on the stack. (Not aligned ones: gcc's
// own tables lose rbp in their epilogues.)
__attribute__((noinline)) long many(long a, long b, long c, long d, long e, long f, long g, char *text)
{
    text[0] = (char)a;
    return a + b + c + d + e + f + g;
}

__attribute__((noinline)) long varied(int n)
{
    char sized[n + 1], large[100000];
    long values[4] = {n, n, n, n};
    return many(1, 2, 3, 4, 5, values[n & 3], n, sized) + many(n, 0, 0, 0, 0, 0, 0, large);
}

__attribute__((noinline)) int tell(const char *text, int length)
{
    return (int)write(1, text, (size_t)length); // GATE
}

int measure(int depth)
{
    return descend(depth, "shape") + (int)varied(depth) + 1000;
}

int crash(int depth)
{
    return descend(depth, NULL);
}

int main(int argc, char **argv)
{
    (void)argv;
    return tell("hi\n", 3) == 3 && measure(argc) > 0 ? 0 : 1;
}

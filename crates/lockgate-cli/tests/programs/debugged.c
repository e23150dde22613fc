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

__attribute__((noinline)) int tell(const char *text, int length)
{
    return (int)write(1, text, (size_t)length); // GATE
}

int measure(int depth)
{
    return descend(depth, "shape") + 1000;
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

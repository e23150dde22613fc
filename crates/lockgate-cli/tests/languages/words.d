// D without its runtime library (-fno-druntime): structures with methods, templates, compile-time evaluation.
import core.stdc.stdio;

int count(const(char)[] text) {
    int words = 0;
    bool inside = false;
    foreach (c; text) {
        bool blank = c == ' ';
        if (!blank && !inside) words++;
        inside = !blank;
    }
    return words;
}

struct Point(T) {
    T x, y;
    T norm() const { return x * x + y * y; }
}

enum atCompileTime = count("one two three");

extern (C) int main() {
    auto point = Point!double(1.5, 2);
    printf("%d %d %g\n", atCompileTime, count("a bc  d "), point.norm());
    foreach (i; 0 .. 3) printf("%d ", i * i);
    printf("\n");
    return 0;
}

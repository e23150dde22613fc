// Virtual calls over objects of many classes, sorted and summed.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
    virtual void grow(double by) = 0;
};
struct Circle : Shape {
    double r;
    explicit Circle(double r) : r(r) {}
    double area() const override { return 3.14159265 * r * r; }
    void grow(double by) override { r += by; }
};
struct Square : Shape {
    double a;
    explicit Square(double a) : a(a) {}
    double area() const override { return a * a; }
    void grow(double by) override { a += by; }
};
struct Triangle : Shape {
    double a, b, c;
    Triangle(double a, double b, double c) : a(a), b(b), c(c) {}
    double area() const override {
        const double s = (a + b + c) / 2;
        return std::sqrt(s * (s - a) * (s - b) * (s - c));
    }
    void grow(double by) override { a += by, b += by, c += by; }
};

int main(int, char **argv) {
    double sum = 0;
    for (int round = std::atoi(argv[1]); round > 0; round--) {
        std::vector<std::unique_ptr<Shape>> shapes;
        for (int number = 1; number <= 3000; number++) {
            const double size = 1 + (number * 7919 % 1000) / 100.0;
            if (number % 3 == 0)
                shapes.push_back(std::make_unique<Circle>(size));
            else if (number % 3 == 1)
                shapes.push_back(std::make_unique<Square>(size));
            else
                shapes.push_back(std::make_unique<Triangle>(size, size + 1, size + 1.5));
        }
        for (int turn = 0; turn < 4; turn++) {
            for (auto &shape : shapes)
                shape->grow(0.25);
            std::sort(shapes.begin(), shapes.end(), [](const auto &a, const auto &b) { return a->area() < b->area(); });
            sum += shapes[shapes.size() / 2]->area();
        }
    }
    std::printf("%.6f\n", sum);
}

// Neither exceptions nor type information.
#include <algorithm>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>
struct Shape { virtual double area() const = 0; virtual ~Shape() = default; };
struct Square : Shape {
    double side;
    explicit Square(double given) : side(given) {}
    double area() const override { return side * side; }
};
int main(int count, char **) {
    std::vector<std::unique_ptr<Shape>> shapes;
    for (int i = 0; i < 4; i++) shapes.push_back(std::make_unique<Square>(i + count));
    double sum = 0;
    for (auto &shape : shapes) sum += shape->area();
    std::ostringstream out;
    out << sum;
    std::string text = out.str();
    std::reverse(text.begin(), text.end());
    std::cout << text << std::endl;
}

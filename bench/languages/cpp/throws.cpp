// A reader of numbers that throws on every eighth line, through frames with destructors.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct Line {
    std::string text;
    std::unique_ptr<int> count = std::make_unique<int>(0);
};

static int digit(char c) {
    if (c < '0' || c > '9')
        throw std::invalid_argument(std::string("no digit: ") + c);
    return c - '0';
}

static int number(const Line &line) {
    Line copy{line.text};
    int value = 0;
    for (char c : copy.text)
        value = value * 10 % 1000003 + digit(c), ++*copy.count;
    return value + *copy.count;
}

int main(int, char **argv) {
    std::vector<Line> lines;
    for (int index = 0; index < 256; index++)
        lines.push_back(Line{index % 8 ? std::to_string(index * 12345) : "12x" + std::to_string(index)});
    long sum = 0;
    for (int round = std::atoi(argv[1]); round > 0; round--)
        for (const Line &line : lines)
            try {
                sum += number(line);
            } catch (const std::exception &error) {
                sum += static_cast<long>(std::string(error.what()).size());
            }
    std::printf("%ld\n", sum);
}

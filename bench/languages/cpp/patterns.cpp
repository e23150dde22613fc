// std::regex over the lines of a log.
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <string>
#include <vector>

int main(int, char **argv) {
    std::vector<std::string> lines;
    for (int number = 0; number < 300; number++)
        lines.push_back("2026-11-" + std::to_string(10 + number % 20) + " host" + std::to_string(number % 7) + " [" +
                        (number % 5 ? "info" : "error") + "] took " + std::to_string(number * 37 % 1000) + " ms for /path/" +
                        std::to_string(number));
    const std::regex pattern(R"((\d+)-(\d+)-(\d+) (\w+) \[(info|error)\] took (\d+) ms for (/[a-z]+/\d+))");
    long sum = 0;
    for (int round = std::atoi(argv[1]); round > 0; round--)
        for (const std::string &line : lines) {
            std::smatch match;
            if (std::regex_match(line, match, pattern) && match[5] == "error")
                sum += std::stol(match[6]) + static_cast<long>(match[7].length());
        }
    std::printf("%ld\n", sum);
}

// Strings, streams and hash tables: counts the words of a text.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

int main(int, char **argv) {
    std::string text;
    unsigned seed = 1;
    for (int number = 0; number < 8000; number++) {
        seed = seed * 1103515245 + 12345;
        text += "word" + std::to_string(seed >> 16 & 1023) + (number % 12 ? " " : "\n");
    }
    unsigned sum = 0;
    for (int round = std::atoi(argv[1]); round > 0; round--) {
        std::unordered_map<std::string, int> counts;
        std::istringstream in(text);
        for (std::string word; in >> word;)
            counts[word]++;
        std::vector<std::pair<int, std::string>> sorted;
        for (const auto &[word, count] : counts)
            sorted.emplace_back(-count, word);
        std::sort(sorted.begin(), sorted.end());
        std::ostringstream out;
        for (const auto &[count, word] : sorted)
            out << word << ' ' << -count << '\n';
        for (unsigned char c : out.str())
            sum = sum * 31 + c;
    }
    std::printf("%u\n", sum);
}

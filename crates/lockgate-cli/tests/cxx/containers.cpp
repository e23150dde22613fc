// The library's templates, and what of it is in libstdc++.a.
#include <algorithm>
#include <any>
#include <array>
#include <bitset>
#include <charconv>
#include <chrono>
#include <deque>
#include <functional>
#include <iostream>
#include <list>
#include <map>
#include <memory_resource>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <valarray>
#include <variant>
#include <vector>

int main() {
    std::map<std::string, int> ordered;
    std::unordered_map<std::string, int> hashed;
    for (const char *word : {"one", "two", "three", "two", "three", "three"}) ordered[word]++, hashed[word]++;
    for (const auto &[word, count] : ordered) std::cout << word << ' ' << count << ' ' << hashed.at(word) << '\n';
    std::mt19937_64 random(42);
    std::vector<int> numbers(1000);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::shuffle(numbers.begin(), numbers.end(), random);
    std::stable_sort(numbers.begin(), numbers.end(), std::greater<>());
    std::cout << numbers[500] << ' ' << std::accumulate(numbers.begin(), numbers.end(), 0) << ' '
              << std::uniform_int_distribution<int>(1, 6)(random) << ' ' << std::normal_distribution<double>()(random) << '\n';
    std::variant<int, std::string, double> either = "text";
    std::cout << either.index() << ' ' << std::visit([](const auto &value) { return sizeof value; }, either) << '\n';
    std::any anything = std::string("any");
    std::cout << std::any_cast<std::string &>(anything) << ' ' << (std::any_cast<int>(&anything) == nullptr) << '\n';
    std::optional<int> nothing;
    std::function<int(int)> recursive = [&](int n) { return n < 2 ? 1 : n * recursive(n - 1); };
    std::cout << nothing.value_or(9) << ' ' << recursive(10) << '\n';
    std::list<int> list{3, 1, 2};
    std::deque<int> deque(list.begin(), list.end());
    list.sort();
    std::set<int> set(deque.rbegin(), deque.rend());
    std::cout << list.front() << deque.back() << *set.rbegin() << std::bitset<8>(5) << '\n';
    std::array<std::byte, 1024> memory;
    std::pmr::monotonic_buffer_resource pool(memory.data(), memory.size());
    std::pmr::vector<std::pmr::string> strings(&pool);
    strings.emplace_back("a string that is too long to be kept inside");
    std::cout << strings[0].size() << ' ' << std::string_view(strings[0]).substr(2, 6) << '\n';
    char digits[32];
    auto end = std::to_chars(digits, digits + sizeof digits, 0.1 + 0.2).ptr;
    double back = 0;
    std::from_chars(digits, end, back);
    std::cout << std::string(digits, end) << ' ' << (back == 0.1 + 0.2) << '\n';
    std::valarray<double> values{1, 4, 9};
    std::cout << std::sqrt(values).sum() << ' ' << std::chrono::duration_cast<std::chrono::minutes>(std::chrono::hours(2)).count() << '\n';
    std::random_device device;
    unsigned different = 0;
    for (int i = 0; i < 4; i++) different |= device() ^ device();
    std::cout << (different != 0) << ' ' << std::get<1>(std::make_tuple(1, 'x')) << '\n';
}

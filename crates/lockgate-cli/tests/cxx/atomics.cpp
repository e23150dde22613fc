// Atomic objects of sizes that no single instruction serves, by many threads: no value is torn, and none is lost.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

template <int words> struct Many {
    uint64_t values[words];
    bool operator==(const Many &) const = default;
};

// Threads add to all words by compare_exchange, or write others by exchange and store; whoever reads finds all words alike.
template <int words> void adds(const char *name) {
    static std::atomic<Many<words>> object{};
    static std::atomic<int> torn{0};
    constexpr int threads = 6, rounds = 20'000;
    auto alike = [](const Many<words> &value) {
        for (uint64_t word : value.values)
            if (word != value.values[0]) return false;
        return true;
    };
    std::vector<std::thread> all;
    for (int i = 0; i < threads; i++)
        all.emplace_back([&] {
            for (int round = 0; round < rounds; round++) {
                Many<words> old = object.load(), next;
                do {
                    if (!alike(old)) torn++;
                    for (int k = 0; k < words; k++) next.values[k] = old.values[k] + 1;
                } while (!object.compare_exchange_weak(old, next));
            }
        });
    for (auto &thread : all) thread.join();
    all.clear();
    printf("%s: %llu, torn %d, lock-free %d\n", name, (unsigned long long)object.load().values[words - 1],
           torn.load(), object.is_lock_free());

    // What threads have written is there once: as the result of another exchange, or at the end.
    static std::atomic<uint64_t> sum{0};
    object.store({});
    for (int i = 0; i < threads; i++)
        all.emplace_back([&, i] {
            for (int round = 0; round < rounds; round++) {
                Many<words> next;
                for (uint64_t &word : next.values) word = i * rounds + round;
                Many<words> old = object.exchange(next);
                if (!alike(old)) torn++;
                sum += old.values[0];
            }
        });
    for (auto &thread : all) thread.join();
    all.clear();
    sum += object.load().values[0];
    printf("%s: exchanged %llu, torn %d\n", name, (unsigned long long)sum.load(), torn.load());
    // One thread stores, others read.
    std::atomic<bool> over{false};
    for (int i = 0; i < 2; i++)
        all.emplace_back([&] {
            while (!over.load())
                if (!alike(object.load())) torn++;
        });
    for (int round = 0; round < rounds; round++) {
        Many<words> next;
        for (uint64_t &word : next.values) word = ~0ull - round;
        object.store(next);
    }
    over = true;
    for (auto &thread : all) thread.join();
    printf("%s: stored %llx, torn %d\n", name, (unsigned long long)object.load().values[0], torn.load());
    Many<words> expected{}, other{};
    other.values[0] = 1;
    bool first = object.compare_exchange_strong(expected, other);
    bool second = object.compare_exchange_strong(expected, other);
    printf("%s: %d %llx %d %llx\n", name, first, (unsigned long long)expected.values[words - 1], second,
           (unsigned long long)object.load().values[0]);
}

// Numbers of 16 bytes, by each function.
void numbers() {
    typedef unsigned __int128 Number;
    static Number number;
    auto print = [](const char *name, Number value) {
        printf("%s %016llx%016llx\n", name, (unsigned long long)(value >> 64), (unsigned long long)value);
    };
    Number large = (Number)0x0123456789abcdef << 64 | 0xfedcba9876543210;
    __atomic_store_n(&number, large, __ATOMIC_SEQ_CST);
    print("load", __atomic_load_n(&number, __ATOMIC_SEQ_CST));
    print("add", __atomic_fetch_add(&number, large, __ATOMIC_SEQ_CST));
    print("sub", __atomic_fetch_sub(&number, large << 3, __ATOMIC_SEQ_CST));
    print("and", __atomic_fetch_and(&number, large >> 3, __ATOMIC_SEQ_CST));
    print("or", __atomic_fetch_or(&number, large >> 5, __ATOMIC_SEQ_CST));
    print("xor", __atomic_fetch_xor(&number, large, __ATOMIC_SEQ_CST));
    print("nand", __atomic_fetch_nand(&number, large << 1, __ATOMIC_SEQ_CST));
    print("exchange", __atomic_exchange_n(&number, large, __ATOMIC_SEQ_CST));
    print("add and", __atomic_add_fetch(&number, 1, __ATOMIC_SEQ_CST));
    print("nand and", __atomic_nand_fetch(&number, large << 2, __ATOMIC_SEQ_CST));
    Number expected = 0;
    bool first = __atomic_compare_exchange_n(&number, &expected, large, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    print(first ? "written" : "not written", expected);
    bool second = __atomic_compare_exchange_n(&number, &expected, large, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    print(second ? "written" : "not written", __atomic_load_n(&number, __ATOMIC_SEQ_CST));

    // Threads add: the carry reaches the upper half.
    number = (Number)~0ull << 1;
    std::vector<std::thread> all;
    for (int i = 0; i < 6; i++)
        all.emplace_back([] {
            for (int round = 0; round < 20'000; round++)
                __atomic_fetch_add(&number, ((Number)1 << 64) - 1, __ATOMIC_SEQ_CST);
        });
    for (auto &thread : all) thread.join();
    print("added", number);
}

// Sizes that are no power of two, and places that are not aligned.
extern "C" void generic_exchange(size_t, void *, void *, void *, int) __asm__("__atomic_exchange");
void odd() {
    struct Three {
        char text[3];
    };
    std::atomic<Three> three{{"ab"}};
    printf("%s %d\n", three.exchange({"cd"}).text, three.is_lock_free());
    printf("%s\n", three.load().text);
    struct __attribute__((packed)) Packed {
        char before;
        uint32_t value;
    } packed{1, 2};
    void *place = (char *)&packed + offsetof(Packed, value);
    uint32_t value = 7, old = 0;
    generic_exchange(4, place, &value, &old, __ATOMIC_SEQ_CST);
    printf("%u %u\n", old, packed.value);
    std::atomic<long double> number{1.5L};
    number.store(number.load() + 1);
    printf("%Lg\n", number.load());
}

int main() {
    adds<2>("16 bytes");
    adds<5>("40 bytes");
    numbers();
    odd();
}

// Debugged by tests/gdb.rs: members, templates, references, exceptions.
#include <stdexcept>
#include <string>
#include <vector>

#define FAR __attribute__((noinline))

namespace shop {

struct Item {
    int price;
    int count;
};

template <class T> struct Sum {
    T total;
    explicit Sum(T start) : total(start) {}
    FAR T add(const std::vector<Item> &items) {
        for (const Item &item : items)
            total += item.price * item.count; // SUM
        return total;
    }
};

struct Till {
    int taken = 100;
    virtual ~Till() = default;
    FAR virtual int pay(const std::vector<Item> &items, const std::string &who) {
        Sum<long> sum(0);
        const int price = static_cast<int>(sum.add(items)); // ADD
        if (price > taken)
            throw std::runtime_error("no money for " + who); // THROW
        return taken -= price;
    }
};

} // namespace shop

extern "C" int pay(int price) {
    shop::Till till;
    const std::vector<shop::Item> items{{price, 2}, {3, 4}};
    try {
        return till.pay(items, "joe"); // PAY
    } catch (const std::exception &error) {
        return -static_cast<int>(std::string(error.what()).size()); // CAUGHT
    }
}

// What C programs free, these bindings copy and free themselves.
#include "check.hpp"
#include "keeper.hpp"
#include <fstream>

using keeper::error;
using keeper::error_kind;

// Kibibytes that the process has on its heap and elsewhere.
static long resident()
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("RssAnon:", 0) == 0)
            return std::strtol(line.c_str() + 8, nullptr, 10);
    return -1;
}

int main()
{
    CHECK(keeper::keeper_join("lock", "gate") == "lockgate");
    CHECK(keeper::keeper_bytes(3, 9).value() == std::vector<unsigned char>(3, 9));
    auto points = keeper::keeper_points(3);
    CHECK(points.size() == 3 && points[2].x == 2 && points[2].y == -2);
    auto [code, why] = keeper::keeper_explain(5);
    CHECK(code == 5 && why == "it went wrong");
    CHECK(keeper::keeper_explain(0).result == 0);
    for (int round = 0; round < 20; round++)
        CHECK(keeper::keeper_bytes(1 << 20, 1).value().back() == 1);
    long before = resident();
    for (int fill = 0; fill < 200; fill++)
        CHECK(keeper::keeper_bytes(1 << 20, fill).value().back() == fill);
    CHECK(before > 0 && resident() < before + 50000);
    keeper::keeper_answer(2);
    FAILS(keeper::keeper_join("a", "b"), error_kind::pointer, ANY);
}

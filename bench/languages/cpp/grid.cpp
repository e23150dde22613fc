// Templates over numbers: a small matrix class, a heat equation, a product.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

template <typename T, std::size_t N> struct Grid {
    std::vector<T> cells = std::vector<T>(N * N);
    T &at(std::size_t x, std::size_t y) { return cells[y * N + x]; }
    const T &at(std::size_t x, std::size_t y) const { return cells[y * N + x]; }
};

template <typename T, std::size_t N> Grid<T, N> product(const Grid<T, N> &a, const Grid<T, N> &b) {
    Grid<T, N> c;
    for (std::size_t i = 0; i < N; i++)
        for (std::size_t k = 0; k < N; k++)
            for (std::size_t j = 0; j < N; j++)
                c.at(j, i) += a.at(k, i) * b.at(j, k);
    return c;
}

int main(int, char **argv) {
    double sum = 0;
    Grid<double, 96> heat;
    for (std::size_t x = 0; x < 96; x++)
        heat.at(x, 0) = 100.0 + static_cast<double>(x);
    for (int round = std::atoi(argv[1]); round > 0; round--) {
        for (int step = 0; step < 20; step++) {
            Grid<double, 96> next = heat;
            for (std::size_t y = 1; y < 95; y++)
                for (std::size_t x = 1; x < 95; x++)
                    next.at(x, y) = (heat.at(x - 1, y) + heat.at(x + 1, y) + heat.at(x, y - 1) + heat.at(x, y + 1)) / 4;
            heat = std::move(next);
        }
        const Grid<double, 96> square = product(heat, heat);
        sum += std::accumulate(square.cells.begin(), square.cells.end(), 0.0) * 1e-9;
    }
    std::printf("%.6f\n", sum);
}

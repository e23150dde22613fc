// A program in C++ that does not trust what a library returns:
//
//     lockgate cc -g -O2 -shared checksum.c -o checksum.lg
//     cmake -B build && cmake --build build && build/host checksum.lg
#include <cstring>
#include <iostream>
#include <lockgate.hpp>

using lockgate::pointer;

int main(int argc, char **argv) try {
    if (argc != 2)
        throw std::invalid_argument("usage: host MODULE");
    lockgate::Domain domain(lockgate::Module(argv[1]), lockgate::Options().name("checksum").time_limit(1000));
    auto checksum = domain.bind<std::uint32_t(pointer<unsigned char>, std::uint64_t)>("checksum");
    auto name_of = domain.bind<pointer<char>(std::uint32_t)>("name_of");

    const char text[] = "Wikipedia";
    auto bytes = domain.alloc<unsigned char>(sizeof text);
    domain.write(bytes, reinterpret_cast<const unsigned char *>(text), sizeof text);
    std::uint32_t sum = checksum(bytes, std::strlen(text)).verify([](std::uint32_t sum) { return sum != 0; });
    std::cout << "checksum " << std::hex << sum << '\n';

    // The name is the library's word: read_string() copies it, whatever the pointer is, and throws if it leads nowhere; what does not
    // belong on a terminal is none.
    for (std::uint32_t number : {2u, 1u << 28}) {
        try {
            auto name = name_of(number).trust("read_string looks at it");
            auto text = domain.read_string(name, 100).verify([](const std::string &text) {
                return text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
            });
            std::cout << text << '\n';
        } catch (const lockgate::Error &error) {
            std::cout << "no name: " << error.what() << '\n';
        }
    }
    return 0;
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
}

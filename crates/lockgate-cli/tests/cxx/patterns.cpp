// Regular expressions: of the library's templates those that take longest to compile.
#include <iostream>
#include <regex>
#include <string>

int main() {
    std::regex address("(\\w+)@(\\w+)\\.com");
    std::smatch match;
    std::string mail = "mail joe@example.com now";
    std::cout << std::regex_search(mail, match, address) << ' ' << match[1] << ' ' << std::regex_replace(mail, address, "$2") << '\n';
    try {
        std::regex("(unbalanced");
    } catch (const std::regex_error &error) {
        std::cout << error.what() << ' ' << (error.code() == std::regex_constants::error_paren) << '\n';
    }
}

// Streams, formats and locales, narrow and wide.
#include <codecvt>
#include <complex>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>

static void numbers() {
    std::cout << std::boolalpha << true << ' ' << std::hex << std::showbase << 255 << std::dec << ' ' << std::setprecision(10)
              << 3.14159265358979 << ' ' << std::scientific << 1e10 << std::defaultfloat << ' ' << std::setw(8) << std::setfill('*')
              << 42 << std::setfill(' ') << ' ' << std::complex<double>(1, 2) << '\n';
    std::istringstream in("12 3.5 word 0x1f nonsense");
    int integer = 0, wrong = 7;
    double real = 0;
    std::string word;
    in >> integer >> real >> word >> std::hex >> wrong;
    std::cout << integer << ' ' << real << ' ' << word << ' ' << wrong << ' ';
    in >> wrong;
    std::cout << wrong << in.fail() << in.eof() << '\n';
    std::cout << std::stod("1.25") + std::stoi("77") << ' ' << std::to_string(3.25) << ' ' << std::stoull("ff", nullptr, 16) << '\n';
    long double wide = 1.0L / 3;
    std::cout << wide << ' ' << -0.0 << ' ' << 1 / 0.0 << '\n';
}

static void locales() {
    std::locale classic, utf8("C.UTF-8");
    std::cout << classic.name() << ' ' << utf8.name() << '\n';
    std::cout << std::isalpha('x', classic) << std::isdigit('x', classic) << std::toupper('x', utf8) << std::isspace(L'\t', utf8) << '\n';
    const auto &type = std::use_facet<std::ctype<char>>(utf8);
    const char text[] = "Mixed Case 1!";
    std::string upper(text);
    type.toupper(&upper[0], &upper[0] + upper.size());
    std::cout << upper << ' ' << type.scan_is(std::ctype_base::digit, text, text + sizeof text - 1) - text << '\n';
    const auto &punct = std::use_facet<std::numpunct<char>>(utf8);
    const auto &wide_punct = std::use_facet<std::numpunct<wchar_t>>(utf8);
    std::cout << punct.decimal_point() << punct.grouping().size() << punct.truename() << int(wide_punct.decimal_point()) << '\n';
    std::ostringstream out;
    out.imbue(utf8);
    out << 1234567.5 << ' ' << std::put_money("1234");
    std::cout << out.str() << '|' << '\n';
    std::tm time{};
    time.tm_year = 100, time.tm_mday = 1, time.tm_wday = 6;
    std::cout << std::put_time(&time, "%A %d %B %Y %x") << '\n';
    std::wostringstream wide;
    wide.imbue(utf8);
    wide << std::put_time(&time, L"%a %b %c") << L' ' << 1.5 << L' ' << true;
    std::wcout << wide.str() << std::endl;
    std::istringstream in("2001-02-03");
    in.imbue(utf8);
    in >> std::get_time(&time, "%Y-%m-%d");
    std::cout << time.tm_year << ' ' << time.tm_mon << ' ' << time.tm_mday << '\n';
    std::cout << std::use_facet<std::collate<char>>(utf8).compare("a", "a" + 1, "b", "b" + 1) << '\n';
    std::wstring_convert<std::codecvt_utf8<wchar_t>> convert;
    std::cout << convert.to_bytes(L"\u00e9\u20ac") << ' ' << convert.from_bytes("\xe2\x82\xac").size() << '\n';
    std::locale mixed(classic, utf8, std::locale::ctype | std::locale::time);
    std::cout << mixed.name() << '\n';
    try {
        std::cout << std::locale("xx_XX.UTF-8").name() << '\n';
    } catch (const std::runtime_error &error) {
        std::cout << error.what() << '\n';
    }
}

int main() {
    numbers();
    locales();
    std::cout << std::error_code(2, std::generic_category()).message() << ' ' << std::system_category().name() << '\n';
    std::string line;
    while (std::getline(std::cin, line)) std::cout << '[' << line << "]\n";
    std::clog << "to the log\n";
    return 0;
}

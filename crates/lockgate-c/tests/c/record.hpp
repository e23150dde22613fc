// A structure of hostile.c's, as the C++ layer sees it: one member is not declared.
#ifndef RECORD_HPP
#define RECORD_HPP

#include <lockgate.hpp>

struct Record {
    std::int32_t width;
    bool wide;
    lockgate::pointer<char> name;
    std::int16_t pair[2];
    std::int64_t undeclared;
};

template <>
inline constexpr auto lockgate::fields<Record> =
    lockgate::members(&Record::width, &Record::wide, &Record::name, &Record::pair);

#endif

/* In place of libstdc++'s own, which takes the bits from glibc's <ctype.h>. musl's table has the same. */
namespace std _GLIBCXX_VISIBILITY(default) {
_GLIBCXX_BEGIN_NAMESPACE_VERSION

struct ctype_base {
    typedef const int *__to_type;
    typedef unsigned short mask;
    static const mask upper = 0x100;
    static const mask lower = 0x200;
    static const mask alpha = 0x400;
    static const mask digit = 0x800;
    static const mask xdigit = 0x1000;
    static const mask space = 0x2000;
    static const mask print = 0x4000;
    static const mask graph = 0x400 | 0x800 | 0x4;
    static const mask cntrl = 0x2;
    static const mask punct = 0x4;
    static const mask alnum = 0x400 | 0x800;
#if __cplusplus >= 201103L
    static const mask blank = 0x1;
#endif
};

_GLIBCXX_END_NAMESPACE_VERSION
}

// A value that the API says in C is what C says it is.
#include "check.hpp"
#include "numbers.hpp"

#define FAIL(name) \
    do { \
        int number = 0; \
        try { \
            (void)numbers::name(0); \
        } catch (const numbers::error &error) { \
            number = error.number(); \
        } \
        CHECK(number == 5); \
        (void)numbers::name(1); \
    } while (0)

int main()
{
    FAIL(of_a_name);
    FAIL(of_an_enumerator);
    FAIL(in_octal);
    FAIL(of_operators);
    FAIL(with_a_cast);
    FAIL(a_character);
    FAIL(of_a_size);
    FAIL(without_a_sign);
    FAIL(the_largest);
    FAIL(a_byte);
    FAIL(the_least);
    FAIL(a_state);
    FAIL(a_half);
    FAIL(no_number);
    FAIL(by_default);
    FAIL(a_text);
}

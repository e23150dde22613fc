/* A plugin: it counts words, and it has a bug. */
#include <ctype.h>
#include <string.h>

int host_progress(int percent);

/* Words of `text`, with a report on the way. */
int count_words(const char *text, size_t length) {
    int words = 0, inside = 0;
    for (size_t i = 0; i < length; i++) {
        int letter = !isspace((unsigned char)text[i]);
        words += letter && !inside;
        inside = letter;
        if (i % 16 == 0 && host_progress((int)(100 * i / length)))
            return -1;
    }
    return words;
}

/* The last word's first letter. (It takes for granted that there is a space.) */
char last_word(const char *text, size_t length) {
    const char *space = length ? strrchr(text, ' ') : 0;
    return space[1];
}

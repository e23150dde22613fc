#include "ini.h"
#include <stdlib.h>
#include <string.h>

struct line {
    char *name, *value;
};

struct ini {
    char *text;
    struct line *lines;
    int count;
};

static char *trimmed(char *text)
{
    while (*text == ' ')
        text++;
    for (char *end = text + strlen(text); end > text && end[-1] == ' '; end--)
        end[-1] = 0;
    return text;
}

struct ini *ini_parse(const char *text)
{
    struct ini *ini = calloc(1, sizeof *ini);
    if (!ini || !(ini->text = strdup(text)))
        return free(ini), NULL;
    for (char *line = strtok(ini->text, "\n"); line; line = strtok(NULL, "\n")) {
        struct line *lines = realloc(ini->lines, (ini->count + 1) * sizeof *lines);
        if (!lines)
            return ini_free(ini), NULL;
        ini->lines = lines;
        char *equals = strchr(line, '=');
        *equals = 0; /* the bug: there may be none */
        lines[ini->count++] = (struct line){trimmed(line), trimmed(equals + 1)};
    }
    return ini;
}

const char *ini_get(const struct ini *ini, const char *name)
{
    for (int i = 0; i < ini->count; i++)
        if (strcmp(ini->lines[i].name, name) == 0)
            return ini->lines[i].value;
    return NULL;
}

int ini_each(const struct ini *ini, int (*found)(void *data, const char *name, const char *value), void *data)
{
    int answer = 0;
    for (int i = 0; i < ini->count && answer == 0; i++)
        answer = found(data, ini->lines[i].name, ini->lines[i].value);
    return answer;
}

void ini_free(struct ini *ini)
{
    free(ini->lines);
    free(ini->text);
    free(ini);
}

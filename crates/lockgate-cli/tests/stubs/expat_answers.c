/* What a parser has forgotten after a reset: a program that prints it, with expat and with its client. */
#include <expat.h>
#include <stdio.h>

static XML_Parser parser;
static int one, other;

static const char *name_of(const void *data)
{
    return data == &one ? "one" : data == &other ? "other" : data == parser ? "parser" : data ? "?" : "null";
}

static void start(void *data, const XML_Char *name, const XML_Char **attributes)
{
    (void)attributes;
    printf("<%s> for %s\n", name, name_of(data));
}

static void parse(const char *when)
{
    XML_SetElementHandler(parser, start, 0);
    int status = XML_Parse(parser, "<a/>", 4, 1);
    printf("%s: %d, ", when, status);
    printf("user data %s\n", name_of(XML_GetUserData(parser)));
}

static void reset(void)
{
    int done = XML_ParserReset(parser, 0);
    printf("reset %d, ", done);
    printf("user data %s\n", name_of(XML_GetUserData(parser)));
}

int main(void)
{
    parser = XML_ParserCreate(0);
    XML_SetUserData(parser, &one);
    parse("data");
    reset();
    parse("nothing");
    reset();
    XML_SetUserData(parser, &other);
    XML_UseParserAsHandlerArg(parser);
    parse("itself");
    reset();
    XML_SetUserData(parser, &one);
    parse("data again");

    /* That of an entity of its own cannot be reset, and has forgotten nothing. */
    reset();
    XML_SetUserData(parser, &other);
    XML_Parser outer = parser;
    parser = XML_ExternalEntityParserCreate(outer, "", 0);
    reset();
    parse("entity");
    XML_ParserFree(parser);
    XML_ParserFree(outer);
    return 0;
}

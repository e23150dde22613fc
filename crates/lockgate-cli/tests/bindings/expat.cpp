// expat by its bindings: handlers that collect what a document has.
#include "check.hpp"
#include "expat.hpp"

using expat::error;
using expat::error_kind;

static std::pair<std::string, std::string> parse(std::string_view document)
{
    auto parser = expat::XML_ParserCreate(nullptr).value();
    std::string seen, wrong;
    expat::XML_StartElementHandler start([&](const expat::text &name, expat::span<const expat::text> attributes) {
        seen += "<" + name + " ";
        for (auto &each : attributes)
            seen += each + ",";
        seen += ">";
    });
    expat::XML_EndElementHandler end([&](const expat::text &name) { seen += "</" + name + ">"; });
    expat::XML_CharacterDataHandler text([&](expat::span<const unsigned char> s, int) { seen.append(s.begin(), s.end()); });
    expat::XML_SetElementHandler(parser, start, end);
    expat::XML_SetCharacterDataHandler(parser, text);
    // In pieces; the last one by the library's own buffer.
    auto first = document.substr(0, document.size() / 2), rest = document.substr(document.size() / 2);
    auto status = expat::XML_Parse(parser, first, 0);
    if (status == XML_STATUS_OK) {
        CHECK(expat::XML_GetBuffer(parser, static_cast<int>(rest.size()), rest));
        status = expat::XML_ParseBuffer(parser, static_cast<int>(rest.size()), 1);
    }
    if (status == XML_STATUS_ERROR)
        wrong = expat::XML_ErrorString(expat::XML_GetErrorCode(parser)).value();
    expat::XML_ParserFree(std::move(parser));
    return {seen, wrong};
}

int main()
{
    auto [seen, wrong] = parse("<a x='1' y='2'><b/>text</a>");
    CHECK(wrong.empty() && seen == "<a x,1,y,2,><b ></b>text</a>");
    std::tie(seen, wrong) = parse("<a><b>some more text</a></b>");
    CHECK(wrong == "mismatched tag" && seen == "<a ><b >some more text");
    bool is_there = false;
    for (auto &feature : expat::XML_GetFeatureList())
        is_there |= feature.name == "sizeof(XML_Char)" && feature.value == 1;
    CHECK(is_there);
    CHECK(expat::XML_ExpatVersion().value().rfind("expat_", 0) == 0);

    // A handler that has been destroyed ends the call that it comes from.
    auto parser = expat::XML_ParserCreate(nullptr).value();
    expat::XML_SetElementHandler(parser, expat::XML_StartElementHandler([](auto &, auto) {}), nullptr);
    FAILS(expat::XML_Parse(parser, std::string_view("<a/>"), 1), error_kind::callback, "closure");
}

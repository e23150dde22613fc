"""expat by its bindings: handlers that collect what a document has."""

import expat_protected as expat


def parse(document):
    seen = []
    with expat.XML_ParserCreate(None) as parser:
        start = expat.XML_StartElementHandler(lambda name, atts: seen.append(f"<{name.decode()} {b','.join(atts).decode()}>"))
        end = expat.XML_EndElementHandler(lambda name: seen.append(f"</{name.decode()}>"))
        text = expat.XML_CharacterDataHandler(lambda s, length: seen.append(s.decode()))
        expat.XML_SetElementHandler(parser, start, end)
        expat.XML_SetCharacterDataHandler(parser, text)
        # In pieces; the last one by the library's own buffer.
        first, rest = document[: len(document) // 2], document[len(document) // 2 :]
        status = expat.XML_Parse(parser, first, 0)
        if status == expat.XML_Status.XML_STATUS_OK:
            assert expat.XML_GetBuffer(parser, len(rest), rest)
            status = expat.XML_ParseBuffer(parser, len(rest), 1)
        if status == expat.XML_Status.XML_STATUS_ERROR:
            return "".join(seen), expat.XML_ErrorString(expat.XML_GetErrorCode(parser))
        return "".join(seen), None


assert parse(b"<a x='1' y='2'><b/>text</a>") == ("<a x,1,y,2><b ></b>text</a>", None)
assert parse(b"<a><b>some more text</a></b>") == ("<a ><b >some more text", b"mismatched tag")
assert any(feature.name == b"sizeof(XML_Char)" and feature.value == 1 for feature in expat.XML_GetFeatureList())
assert expat.XML_ExpatVersion().startswith(b"expat_")

# A handler that was passed as it is lives as long as that call: the error says so.
with expat.XML_ParserCreate(None) as parser:
    expat.XML_SetElementHandler(parser, lambda name, atts: None, None)
    try:
        expat.XML_Parse(parser, b"<a/>", 1)
        raise AssertionError("the handler is gone")
    except expat.Error as error:
        assert error.kind == expat.Kind.CALLBACK and "keep XML_StartElementHandler(function)" in str(error), error

# An exception in a handler comes out of the call.
with expat.XML_ParserCreate(None) as parser:

    def refuse(name, atts):
        raise KeyError(name)

    keep = expat.XML_StartElementHandler(refuse)
    expat.XML_SetElementHandler(parser, keep, None)
    try:
        expat.XML_Parse(parser, b"<a/>", 1)
        raise AssertionError("it was refused")
    except KeyError as error:
        assert error.args == (b"a",)

/* How expat's functions use what they are given: annotations for `lockgate stubs expat.h` (docs/stubs.md). */
#include "expat.h"

LG_DOMAIN("expat", memory=256M);
LG_ERRORS(enum XML_Status, XML_STATUS_ERROR);
LG_ERRORS(enum XML_Error, XML_ERROR_UNEXPECTED_STATE);
/* Whether it was done. */
LG_ERRORS(XML_Bool, XML_FALSE);
/* Lines and columns: there is no line 0. */
LG_ERRORS(XML_Size, 0);

/* What they return where there is nothing, or where they fail. */
int XML_GetSpecifiedAttributeCount(XML_Parser parser) LG_ERROR(0);
int XML_GetIdAttributeIndex(XML_Parser parser) LG_ERROR(-1);
int XML_SetParamEntityParsing(XML_Parser parser, enum XML_ParamEntityParsing parsing) LG_ERROR(0);
int XML_SetHashSalt(XML_Parser parser, unsigned long hash_salt) LG_ERROR(0);
XML_Index XML_GetCurrentByteIndex(XML_Parser parser) LG_ERROR(-1);
int XML_GetCurrentByteCount(XML_Parser parser) LG_ERROR(0);
XML_Expat_Version XML_ExpatVersionInfo(void) LG_ERROR({0});

/* What handlers get. */
typedef void (XMLCALL *XML_AttlistDeclHandler)(void *userData, const XML_Char *elname, const XML_Char *attname,
                                               const XML_Char *att_type, const XML_Char *dflt LG_STRING LG_NULLABLE, int isrequired);
typedef void (XMLCALL *XML_XmlDeclHandler)(void *userData, const XML_Char *version LG_NULLABLE, const XML_Char *encoding LG_STRING LG_NULLABLE,
                                           int standalone);
typedef void (XMLCALL *XML_ProcessingInstructionHandler)(void *userData, const XML_Char *target, const XML_Char *data LG_STRING);
typedef void (XMLCALL *XML_CommentHandler)(void *userData, const XML_Char *data LG_STRING);
typedef void (XMLCALL *XML_StartElementHandler)(void *userData, const XML_Char *name, const XML_Char **atts LG_STRINGS LG_PAIRS);
typedef void (XMLCALL *XML_CharacterDataHandler)(void *userData, const XML_Char *s LG_SIZE(len), int len);
typedef void (XMLCALL *XML_DefaultHandler)(void *userData, const XML_Char *s LG_SIZE(len), int len);
typedef void (XMLCALL *XML_StartDoctypeDeclHandler)(void *userData, const XML_Char *doctypeName, const XML_Char *sysid LG_NULLABLE,
                                                    const XML_Char *pubid LG_STRING LG_NULLABLE, int has_internal_subset);
typedef void (XMLCALL *XML_EntityDeclHandler)(void *userData, const XML_Char *entityName LG_STRING, int is_parameter_entity,
                                              const XML_Char *value LG_SIZE(value_length) LG_NULLABLE, int value_length,
                                              const XML_Char *base LG_NULLABLE, const XML_Char *systemId LG_NULLABLE,
                                              const XML_Char *publicId LG_NULLABLE, const XML_Char *notationName LG_NULLABLE);
typedef void (XMLCALL *XML_SkippedEntityHandler)(void *userData, const XML_Char *entityName LG_STRING, int is_parameter_entity);
typedef void (XMLCALL *XML_UnparsedEntityDeclHandler)(void *userData, const XML_Char *entityName, const XML_Char *base LG_NULLABLE,
                                                      const XML_Char *systemId, const XML_Char *publicId LG_NULLABLE,
                                                      const XML_Char *notationName);
typedef void (XMLCALL *XML_NotationDeclHandler)(void *userData, const XML_Char *notationName, const XML_Char *base LG_NULLABLE,
                                                const XML_Char *systemId LG_NULLABLE, const XML_Char *publicId LG_NULLABLE);
typedef void (XMLCALL *XML_StartNamespaceDeclHandler)(void *userData, const XML_Char *prefix LG_NULLABLE, const XML_Char *uri LG_NULLABLE);
typedef void (XMLCALL *XML_EndNamespaceDeclHandler)(void *userData, const XML_Char *prefix LG_NULLABLE);
typedef int (XMLCALL *XML_ExternalEntityRefHandler)(XML_Parser parser, const XML_Char *context LG_NULLABLE, const XML_Char *base LG_NULLABLE,
                                                    const XML_Char *systemId LG_NULLABLE, const XML_Char *publicId LG_NULLABLE);
typedef int (XMLCALL *XML_UnknownEncodingHandler)(void *encodingHandlerData, const XML_Char *name, XML_Encoding *info LG_OUT);
LG_FIELD(XML_Encoding, data, LG_DATA);

/* XML_GetUserData is a macro that looks behind the parser. */
void XML_SetUserData(XML_Parser parser, void *userData LG_DATA LG_SHOWN(parser));
XML_Parser XML_ExternalEntityParserCreate(XML_Parser parser, const XML_Char *context, const XML_Char *encoding) LG_SHOWN(parser);
void XML_UseParserAsHandlerArg(XML_Parser parser LG_DATA);
XML_Bool XML_ParserReset(XML_Parser parser LG_RESET, const XML_Char *encoding);
void XML_ParserFree(XML_Parser parser LG_RELEASE);

enum XML_Status XML_SetBase(XML_Parser parser, const XML_Char *base LG_STRING);
enum XML_Status XML_Parse(XML_Parser parser, const char *s LG_IN LG_SIZE(len), int len, int isFinal);
void *XML_GetBuffer(XML_Parser parser, int len) LG_LENT LG_SIZE(len);
const char *XML_GetInputContext(XML_Parser parser, int *offset LG_OUT LG_AT_MOST(*size), int *size LG_OUT) LG_SIZE(*size);
void XML_GetParsingStatus(XML_Parser parser, XML_ParsingStatus *status LG_OUT);
void XML_SetUnknownEncodingHandler(XML_Parser parser, XML_UnknownEncodingHandler handler, void *encodingHandlerData LG_DATA);
const XML_Feature *XML_GetFeatureList(void) LG_UNTIL(feature);
LG_FIELD(XML_Feature, name, LG_STRING LG_NULLABLE);
XML_Parser XML_ParserCreate_MM(const XML_Char *encoding, const XML_Memory_Handling_Suite *memsuite LG_NULL,
                               const XML_Char *namespaceSeparator LG_IN LG_SIZE(1));

void XML_SetElementDeclHandler(XML_Parser parser, XML_ElementDeclHandler eldecl) LG_OMIT("content models are trees in the library's memory");
void XML_FreeContentModel(XML_Parser parser, XML_Content *model) LG_OMIT("content models are trees in the library's memory");
void XML_SetExternalEntityRefHandlerArg(XML_Parser parser, void *arg) LG_OMIT("the handler's first parameter is a parser or user data");
void *XML_MemMalloc(XML_Parser parser, size_t size) LG_OMIT("use malloc");
void *XML_MemRealloc(XML_Parser parser, void *ptr, size_t size) LG_OMIT("use realloc");
void XML_MemFree(XML_Parser parser, void *ptr) LG_OMIT("use free");

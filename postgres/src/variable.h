/* Types whose values have no fixed size: the object of C is, or begins with, a pointer. */
#ifndef LOCKGATE_VARIABLE_H
#define LOCKGATE_VARIABLE_H

#include "types.h"

void give_text(const Type *type, Datum value, void *object, struct Exchange *exchange);
void give_shape(const Type *type, Datum value, void *object, struct Exchange *exchange);
void give_numeric(const Type *type, Datum value, void *object, struct Exchange *exchange);
void give_array(const Type *type, Datum value, void *object, struct Exchange *exchange);
void give_texts(const Type *type, Datum value, void *object, struct Exchange *exchange);

Datum take_text(const Type *type, const void *object, struct Domain *domain);
Datum take_json(const Type *type, const void *object, struct Domain *domain);
Datum take_bytes(const Type *type, const void *object, struct Domain *domain);
Datum take_path(const Type *type, const void *object, struct Domain *domain);
Datum take_polygon(const Type *type, const void *object, struct Domain *domain);
Datum take_numeric(const Type *type, const void *object, struct Domain *domain);
Datum take_texts(const Type *type, const void *object, struct Domain *domain);
Datum take_array(const Type *type, const void *object, struct Domain *domain);

#endif

typedef unsigned long size_t;
struct part_item { const char *name; long value; };
LG_FIELD(struct part_item, name, LG_STRING);
long part_sum(const long *numbers LG_IN LG_SIZE(n), size_t n) LG_ERROR(-1);
const char *part_name(int number);
int part_item(const struct part_item *item LG_IN) LG_ERROR(-1);
void part_log(const char *text);
int part_ask(int question, double weight, const long *numbers LG_IN LG_SIZE(question)) LG_ERROR(-1);

//! Structures with pointers in them, field by field.
use super::body::{bytes, flags, how_long, outcome, steady, with_data};
use super::declare::declare;
use super::expression::{Scope, emit};
use crate::expression::Expression;
use crate::plan::{Buffer, FieldPlan, Outcome, Passing, Plan, RecordPlan, TEXT};
use std::fmt::Write as _;

/// The number of a record's type, from 1.
pub fn index(plan: &Plan, key: &str) -> usize {
    1 + plan.records.keys().position(|known| known == key).unwrap_or(0)
}

/// Fields of what `object` points to.
struct Fields<'a> {
    object: &'a str,
    plan: &'a Plan,
}

impl Scope for Fields<'_> {
    fn name(&self, name: &str) -> String {
        field_or_constant(self.object, name)
    }

    fn pointer(&self, name: &str) -> String {
        field_or_constant(self.object, name)
    }

    fn deref(&self, name: &str) -> String {
        format!("{0}->{name} ? *{0}->{name} : 0", self.object)
    }

    fn field(&self, name: &str, field: &str) -> String {
        format!("{0}->{name} ? {0}->{name}->{field} : 0", self.object)
    }

    fn handle(&self, name: &str) -> String {
        format!("(uint64_t)(uintptr_t){}->{name}", self.object)
    }

    fn plan(&self) -> &Plan {
        self.plan
    }
}

/// An expression over fields of what `object` points to.
fn over(object: &str, expression: &Expression, plan: &Plan) -> String {
    emit(expression, &Fields { object, plan })
}

/// Enumerators and macros are written in capitals.
fn field_or_constant(object: &str, name: &str) -> String {
    if name.chars().any(|c| c.is_ascii_lowercase()) { format!("{object}->{name}") } else { name.to_owned() }
}

/// What a stub does with structures of this type.
pub fn functions(record: &RecordPlan, number: usize, plan: &Plan) -> String {
    let RecordPlan { spelling, word, fields, .. } = record;
    let buffers: Vec<(&FieldPlan, &Buffer)> = fields
        .iter()
        .filter_map(|field| match &field.passing {
            Passing::Buffer(buffer) => Some((field, buffer)),
            _ => None,
        })
        .collect();
    let mut text = format!("\n/* {spelling} */\nstruct lgs_with_{word} {{\n    int lgs_none;\n");
    for (field, _) in &buffers {
        let _ = writeln!(text, "    struct lgs_block {0};\n    size_t written_{0};", field.name);
    }
    text += "};\n\n";
    let _ = writeln!(
        text,
        "static void lgs_into_{word}(struct lgs_call *lgs_call, const {spelling} *from, struct lgs_far *to, struct lgs_with_{word} *with)\n{{\n    struct lgs_call lgs_c = *lgs_call;\n    (void)with;"
    );
    // Of several pointers each goes to its own callbacks; one alone to any that the handle has.
    let pairs = plan.pairs(fields.iter().map(|field| &field.passing)).unwrap_or_default();
    let pairs = if pairs.len() > 1 { pairs } else { Vec::new() };
    for (place, field) in fields.iter().enumerate() {
        let of = pairs.iter().find(|(data, _)| *data == place).map_or(&[][..], |(_, of)| of);
        let of: Vec<&str> = of.iter().map(|place| fields[*place].name.as_str()).collect();
        let bound = pairs.iter().any(|(_, of)| of.contains(&place));
        into(&mut text, field, &of, bound, spelling, plan);
    }
    text += "    *lgs_call = lgs_c;\n}\n\n";
    text += &numbers(record);
    let _ = writeln!(
        text,
        "static struct lgs_block lgs_into_all_{word}(struct lgs_call *c, const {spelling} *from, lgs_wide count, const char *what)\n\
         {{\n    size_t size = lgs_size(c, count, sizeof *from, what);\n    lgs_private(c, from, size, what);\n    struct lgs_block block = lgs_fresh(c, (void *)from, size);\n    \
         struct lgs_with_{word} with = {{0}};\n    for (size_t i = 0; block.here && i < size / sizeof *from; i++)\n        \
         lgs_into_{word}(c, from + i, lgs_far(block.here, i * sizeof *from), &with);\n    return block;\n}}\n"
    );
    let _ = writeln!(
        text,
        "static void lgs_check_{word}(struct lgs_call *lgs_call, {spelling} *now, const {spelling} *host, struct lgs_with_{word} *with, int mode)\n{{\n    struct lgs_call lgs_c = *lgs_call;\n    const struct lgs_callback *const lgs_here = 0;\n    (void)with, (void)mode, (void)host, (void)lgs_here;"
    );
    for place in &record.order {
        check(&mut text, &fields[*place], record, plan);
    }
    text += "    *lgs_call = lgs_c;\n}\n\n";
    let _ = writeln!(text, "static void lgs_back_{word}(struct lgs_with_{word} *with)\n{{\n    (void)with;");
    for (field, buffer) in &buffers {
        if buffer.writes {
            let _ = writeln!(text, "    lgs_back(&with->{0}, with->written_{0});", field.name);
        }
    }
    text += "}\n\n";
    text += &shown(record, number);
    let _ = writeln!(
        text,
        "\nstatic void lgs_fill_{word}(struct lgs_call *c, const {spelling} *from, uint64_t address, const char *what)\n\
         {{\n    uint32_t offset;\n    {spelling} inside = {{0}};\n    struct lgs_with_{word} with = {{0}};\n    \
         lgs_into_{word}(c, from, lgs_far(&inside, 0), &with);\n    \
         if (!c->failed && lgs_offset(c, address, sizeof inside, &offset, what) && !lgs_write(address, &inside, sizeof inside))\n        \
         lgs_fail(c, LG_STUB_POINTER, what, \"the library gave a structure that it does not have\");\n}}"
    );
    text
}

/// A pointer that only the library sets.
fn is_set(field: &FieldPlan) -> bool {
    field.passing == Passing::Ignore
        && matches!(
            field.outcome,
            Outcome::String { .. }
                | Outcome::Strings { .. }
                | Outcome::Memory { .. }
                | Outcome::Record { .. }
                | Outcome::Handle { .. }
                | Outcome::Handles { .. }
        )
}

/// What goes in of a structure that the library only writes: numbers, so that those which it leaves stay as they were, but nothing that is followed. And what a
/// callback finds in one that it fills: the library's numbers.
fn numbers(record: &RecordPlan) -> String {
    let RecordPlan { spelling, word, fields, .. } = record;
    let mut text = format!(
        "static void lgs_numbers_{word}(const {spelling} *from, struct lgs_far *to, bool fresh)\n{{\n    (void)from, (void)to, (void)fresh;\n"
    );
    let mut first = format!(
        "static {spelling} *lgs_first_{word}(struct lgs_call *c, uint64_t address, const char *what)\n{{\n    \
         {spelling} inside, *own = lgs_own(c, sizeof inside, what);\n    \
         if (!own || !lgs_found(c, &inside, address, sizeof inside, what))\n        return 0;\n"
    );
    for field in fields {
        let name = &field.name;
        let at = format!("lgs_far(to, offsetof({spelling}, {name}))");
        if field.passing == Passing::Value && !field.of_buffer {
            let _ = writeln!(text, "    lgs_put({at}, &from->{name}, sizeof from->{name});");
        } else if is_set(field) {
            let _ = writeln!(text, "    if (fresh)\n        lgs_put({at}, &(uint64_t){{LGS_UNSET}}, 8);");
        }
        if field.passing == Passing::Value {
            let _ =
                writeln!(first, "    memcpy((void *)&own->{name}, &inside.{name}, sizeof inside.{name});");
        }
    }
    if !record.bools.is_empty() {
        let _ = writeln!(first, "    lgs_bools_{word}(own, 1);");
    }
    format!("{text}}}\n\n{first}    return own;\n}}\n\n")
}

/// Structures that the library gives: copied once, checked in memory of the frame's, and handed out from there. `count` of them, or, where `length`
/// is not zero, up to one whose bytes there are.
pub fn shown(record: &RecordPlan, number: usize) -> String {
    let RecordPlan { spelling, word, .. } = record;
    let check = match record.is_plain() {
        true => String::new(),
        false => format!(
            "    static const {spelling} none;\n    struct lgs_with_{word} with = {{0}};\n    \
             for (size_t i = 0; i < size / sizeof *copy; i++)\n        lgs_check_{word}(c, checked + i, &none, &with, LGS_SHOWN);\n"
        ),
    };
    let normal = match record.bools.is_empty() {
        true => String::new(),
        false => format!("    lgs_bools_{word}(checked, (size_t)count);\n"),
    };
    format!(
        "static {spelling} *lgs_show_{word}(struct lgs_call *c, uint64_t address, lgs_wide count, size_t offset, size_t length, int flags, const char *what)\n\
         {{\n    if (c->failed || (!address && lgs_null(c, flags, what)))\n        return 0;\n    \
         {spelling} *checked = length ? lgs_until(c, address, sizeof({spelling}), offset, length, &count, what)\n        \
         : lgs_array(c, address, count, sizeof({spelling}), what);\n    \
         size_t size = lgs_size(c, count, sizeof({spelling}), what);\n    \
         {spelling} *copy = checked ? lgs_object(c, address, {number}, size, what) : 0;\n    if (!copy)\n        return 0;\n\
         {normal}{check}    if (c->failed)\n        return 0;\n    lgs_thread.given = size;\n    return memcpy(copy, checked, size);\n}}\n"
    )
}

/// Makes every `bool` in structures of this type 0 or 1, and ends text.
pub fn bools(record: &RecordPlan) -> String {
    let RecordPlan { spelling, word, bools, .. } = record;
    let mut text = format!(
        "\nstatic void *lgs_bools_{word}(void *at, size_t count)\n{{\n    {spelling} *each = at;\n    for (; each && count; count--, each++) {{\n"
    );
    for path in bools {
        let text_of = path.strip_prefix(TEXT);
        let path = text_of.unwrap_or(path);
        let mut reached = "each->".to_owned();
        let mut indent = "        ".to_owned();
        let parts: Vec<&str> = path.split("[]").collect();
        for (depth, part) in parts.iter().enumerate() {
            reached += part;
            if depth + 1 < parts.len() {
                let _ = writeln!(
                    text,
                    "{indent}for (size_t i{depth} = 0; i{depth} < sizeof {reached} / sizeof {reached}[0]; i{depth}++)"
                );
                reached += &format!("[i{depth}]");
                indent += "    ";
            }
        }
        let _ = match text_of {
            Some(_) => writeln!(text, "{indent}{reached}[sizeof {reached} / sizeof *{reached} - 1] = 0;"),
            None => writeln!(text, "{indent}lgs_bools(&{reached}, sizeof {reached});"),
        };
    }
    text + "    }\n    return at;\n}\n"
}

/// `of`: the callbacks that data in it is for; `bound`: if it is a callback, data comes with it.
fn into(text: &mut String, field: &FieldPlan, of: &[&str], bound: bool, spelling: &str, plan: &Plan) {
    let FieldPlan { name, passing, .. } = field;
    let put = |value: &str| {
        format!("lgs_put(lgs_far(to, offsetof({spelling}, {name})), {value}, sizeof from->{name});\n")
    };
    let cast = |value: String| format!("    {}", put(&format!("&(uint64_t){{{value}}}")));
    *text += &match passing {
        Passing::Value => format!("    {}", put(&format!("&from->{name}"))),
        Passing::String => cast(format!("lgs_string(&lgs_c, from->{name})")),
        Passing::Buffer(buffer) => {
            let bytes = bytes(buffer, name, &|e| over("from", e, plan));
            let block = format!(
                "    with->{name} = lgs_block(&lgs_c, from->{name}, {bytes}, {} | LGS_SHAREABLE);\n",
                flags(buffer)
            );
            block + &cast(format!("with->{name}.inside"))
        }
        Passing::Handle { number, .. } => {
            cast(format!("lgs_handle(&lgs_c, from->{name}, {number}, \"{name}\")"))
        }
        Passing::Inside { .. } => cast(format!("lgs_inside(&lgs_c, from->{name}, \"{name}\")")),
        Passing::Data { kept, for_call, .. } => {
            let long = how_long(*kept, *for_call);
            let given = |data: &str, of: &[&str]| {
                format!("lgs_data(&lgs_c, {data}, {}, {long}, \"{name}\")", with_data("from->", of))
            };
            let nulls = of
                .iter()
                .skip(1)
                .map(|of| format!("    if (!from->{name})\n        {};\n", given("0", &[of])));
            nulls.collect::<String>() + &cast(given(&format!("from->{name}"), of))
        }
        Passing::Callback { name: type_name } => {
            let number = 1 + plan.callbacks.keys().position(|known| known == type_name).unwrap_or(0);
            cast(format!("lgs_callback(&lgs_c, (lg_code)from->{name}, {number}, {bound}, \"{name}\")"))
        }
        Passing::Null => format!(
            "    if (from->{name})\n        lgs_fail(&lgs_c, LG_STUB_NULL, \"{name}\", \"it must be null\");\n"
        ),
        _ => String::new(),
    };
}

fn check(text: &mut String, field: &FieldPlan, record: &RecordPlan, plan: &Plan) {
    let FieldPlan { name, kind, passing, cursor, of_buffer, .. } = field;
    if let Passing::Buffer(buffer) = passing {
        let count = buffer.size.as_ref().map_or("1".to_owned(), |size| over("now", size, plan));
        let moved = if *cursor {
            format!("lgs_moved(&lgs_c, (uint64_t)(uintptr_t)now->{name}, &with->{name}, \"{name}\")")
        } else {
            "0".to_owned()
        };
        let rest =
            format!("lgs_length(&lgs_c, {count}, {}, with->{name}.size - moved, \"{name}\")", buffer.element);
        // The program goes on behind what it moved over, and takes it for done: two numbers, one truth.
        let agree = match cursor {
            true => format!(
                "        if (rest != with->{name}.size - moved)\n            \
                 lgs_fail(&lgs_c, LG_STUB_LENGTH, \"{name}\", \"the library moved the pointer on by more or less than it says is done\");\n"
            ),
            false => String::new(),
        };
        let said = buffer.written.as_ref().filter(|_| !cursor).map(|written| {
            let count = over("now", written, plan);
            format!("lgs_length(&lgs_c, {count}, {}, rest, \"{name}\")", buffer.element)
        });
        let written = said.as_deref().unwrap_or(if *cursor { "moved" } else { "rest" });
        let shown = outcome(
            &format!("(uint64_t)(uintptr_t)now->{name}"),
            &kind.spelling,
            &Outcome::Memory { buffer: Buffer { reads: true, nullable: true, ..buffer.clone() } },
            name,
            plan,
            &|e| over("now", e, plan),
        );
        let shown = match record.followed.contains(name) {
            true => {
                let raw = format!("(uint64_t)(uintptr_t)now->{name}");
                let memory = Outcome::Memory { buffer: buffer.clone() };
                steady(&shown, &raw, &memory, name, "true", &|e| over("now", e, plan))
            }
            false => shown,
        };
        let _ = writeln!(
            text,
            "    if (mode == LGS_PASSED) {{\n        size_t moved = {moved};\n        size_t rest = {rest};\n        (void)rest;\n{agree}        \
             with->written_{name} = {written};\n        now->{name} = host->{name} ? ({0})((char *)(uintptr_t)host->{name} + moved) : 0;\n    \
             }} else if (mode == LGS_SHOWN) {{\n        now->{name} = {shown};\n    }} else {{\n        now->{name} = host->{name};\n    }}",
            kind.spelling
        );
        return;
    }
    let untouched = format!("memcpy((void *)&now->{name}, &host->{name}, sizeof now->{name});");
    match &field.outcome {
        Outcome::Value if *of_buffer => {
            let _ = writeln!(text, "    if (mode == LGS_LEFT || mode == LGS_FAILED)\n        {untouched}");
        }
        Outcome::Value => {}
        Outcome::Untouched => {
            let _ = writeln!(text, "    {untouched}");
        }
        other => {
            let raw = format!("(uint64_t)(uintptr_t)now->{name}");
            let size = |e: &Expression| over("now", e, plan);
            let value = outcome(&raw, &declare(&kind.spelling, ""), other, name, plan, &size);
            let value = match record.followed.contains(name) {
                true => steady(&value, &raw, other, name, "true", &size),
                false => value,
            };
            // What functions it has, and with which data, only the program decides.
            let own = matches!(other, Outcome::Callback { .. } | Outcome::Data { .. });
            let keeps = if own {
                format!("if (mode == LGS_PASSED)\n        {untouched}\n    else\n        ")
            } else {
                String::new()
            };
            // What the library has not set.
            let keeps = match is_set(field) {
                true => format!(
                    "{keeps}if ({raw} == LGS_UNSET) {{\n        now->{name} = 0;\n        if (mode == LGS_FAILED)\n            {untouched}\n    }} else\n        "
                ),
                false => keeps,
            };
            let _ = writeln!(text, "    {keeps}now->{name} = {value};");
        }
    }
}

//! The client in C: a header that includes the original one, and a library with the same functions.
mod layout;
mod print;
mod record;

pub use layout::as_read;
use layout::{declared_as_read, numbers_as_read};

use super::boundary::declare;
use super::boundary::{callback, stub};
use super::template::{code, row, template};
use super::{File, Target};
use crate::header::model::{CType, Prototype, Shape};
use crate::name::word;
use crate::plan::{CallbackPlan, FunctionPlan, LeftOut, Outcome, Plan, RecordPlan, prototype};
use lockgate_headers::LOCKGATE_STUBS_H;

/// Parts of `runtime/`, in the order in which they build on each other.
const RUNTIME: &[(&str, &str)] = &[
    ("names", include_str!("../../../runtime/names.h")),
    ("state", include_str!("../../../runtime/state.h")),
    ("fetch", include_str!("../../../runtime/fetch.h")),
    ("host", include_str!("../../../runtime/host.h")),
    ("size", include_str!("../../../runtime/size.h")),
    ("shared", include_str!("../../../runtime/shared.h")),
    ("piece", include_str!("../../../runtime/piece.h")),
    ("scope", include_str!("../../../runtime/scope.h")),
    ("stage", include_str!("../../../runtime/stage.h")),
    ("mirror", include_str!("../../../runtime/mirror.h")),
    ("handle", include_str!("../../../runtime/handle.h")),
    ("data", include_str!("../../../runtime/data.h")),
    ("heap", include_str!("../../../runtime/heap.h")),
    ("told", include_str!("../../../runtime/told.h")),
    ("kept", include_str!("../../../runtime/kept.h")),
    ("restart", include_str!("../../../runtime/restart.h")),
    ("call", include_str!("../../../runtime/call.h")),
    ("callback", include_str!("../../../runtime/callback.h")),
    ("jump", include_str!("../../../runtime/jump.h")),
    ("rows", include_str!("../../../runtime/rows.h")),
    ("format", include_str!("../../../runtime/format.h")),
    ("stream", include_str!("../../../runtime/stream.h")),
    ("binding", include_str!("../../../runtime/binding.h")),
];

/// All files of a client in C.
pub fn client(plan: &Plan, target: &Target) -> Vec<File> {
    let name = super::name_of(plan, target);
    vec![
        File { name: target.header.clone(), text: header(plan, target, &name) },
        File { name: format!("{}_client.c", word(&name)), text: source(plan, target, &name) },
        File { name: "lockgate_stubs.h".into(), text: LOCKGATE_STUBS_H.into() },
        File { name: "lockgate_stubs_runtime.h".into(), text: runtime() },
        File { name: format!("{}.exports", word(&name)), text: exports(plan) },
    ]
}

/// What the runtime begins with.
const BEGINNING: &str = r#"/* Runtime of clients made by Lockgate. Included once, by the client. */
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#if !defined __STDC_VERSION__ || __STDC_VERSION__ < 199901L
#error "compile this file as C99 or later (-std=gnu99), whatever the program is compiled as"
#endif
"#;

/// The runtime in one file.
fn runtime() -> String {
    let parts = RUNTIME.iter().flat_map(|(_, part)| ["\n", *part]);
    [BEGINNING].into_iter().chain(parts).collect()
}

/// The client's header: the original one, what is missing made unusable with the reason, and what is new.
fn header(plan: &Plan, target: &Target, name: &str) -> String {
    let short = word(name);
    let unavailable = |LeftOut { name, reason, .. }: &LeftOut| {
        let why = print::quoted(&format!("not protected: {}", quotable(reason)));
        row(format!("extern __typeof__({name}) {name} __attribute__((unavailable({why})));"))
    };
    let left_out = match plan.left_out.is_empty() || target.failing_stubs {
        true => String::new(),
        // Some of them are deprecated, too.
        false => {
            let functions: String = plan.left_out.iter().map(unavailable).collect();
            template!("c/left_out.h.in", FUNCTIONS = functions)
        }
    };
    let declared = plan.functions.iter().map(|function| &function.prototype);
    let others = plan.left_out.iter().map(|left_out| &left_out.prototype);
    let (mut before, mut behind) = (String::new(), String::new());
    if declared.clone().chain(others.clone()).any(|prototype| prototype.never_null) {
        before += &template!("c/nullable_before.h.in");
        behind += &template!("c/nullable_behind.h.in");
    }
    if declared.chain(others).any(|prototype| prototype.aligned) {
        before += &template!("c/unaligned_before.h.in");
        behind += &template!("c/unaligned_behind.h.in");
    }
    template!(
        "c/header.h.in",
        NAME = name,
        BEFORE = before,
        BEHIND = behind,
        SHORT = short,
        HEADER = target.header,
        GUARD = format!("LOCKGATE_CLIENT_{}", short.to_uppercase()),
        LEFT_OUT = left_out,
    )
}

/// The client's library.
fn source(plan: &Plan, target: &Target, name: &str) -> String {
    let defines: String = target.defines.iter().map(|define| defined(define)).collect();
    let prelude = template!("c/prelude.c.in", DEFINES = defines, HEADER = print::quoted(&target.header));
    let module = format!("#define LGS_MODULE {}", print::quoted(&target.module));
    let mut text = stubs(plan, name, &prelude, &module);
    if target.failing_stubs {
        text += BEFORE_FAILING_STUBS;
        text += &promises(plan.left_out.iter().map(|left_out| (&*left_out.name, &left_out.prototype)));
        text.extend(plan.left_out.iter().map(failing_stub));
    }
    text
}

/// They use none of their parameters.
const BEFORE_FAILING_STUBS: &str = r#"
#pragma GCC diagnostic ignored "-Wunused-parameter"
"#;

/// All files of the client of a domain whose module is part of the program: between the symbols `<word>_module` and
/// `<word>_module_end`, with `word` the domain's name. `declarations` are the program's.
pub fn domain(plan: &Plan, name: &str, declarations: &str) -> Vec<File> {
    let word = word(name);
    let module = template!("c/module.h.in", WORD = word);
    vec![
        File { name: format!("{word}_client.c"), text: stubs(plan, name, declarations, &module) },
        File { name: "lockgate_stubs.h".into(), text: LOCKGATE_STUBS_H.into() },
        File { name: "lockgate_stubs_runtime.h".into(), text: runtime() },
    ]
}

/// The functions of a client. `prelude` has the API's declarations, `module` says where the module is found.
fn stubs(plan: &Plan, name: &str, prelude: &str, module: &str) -> String {
    let options = plan.library.iter().flat_map(|(_, options)| options);
    let options: String = options.map(|option| print::quoted(option) + ", ").collect();
    let flag = |is: bool| if is { "1" } else { "0" };
    let row = |function: &FunctionPlan| {
        let policy = function.policy.as_deref().unwrap_or("LG_DEFAULT");
        let texts = [print::quoted(&function.name), print::quoted(&bound(function, plan)), policy.into()];
        template!("c/function_row.c.in", TEXTS = texts.join(", "))
    };
    let mut functions = plan.functions.iter();
    let gives = functions.any(|function| matches!(function.result, Outcome::Data { .. }));
    template!(
        "c/client.c.in",
        NAME = name,
        SHORT = word(name),
        PRELUDE = prelude,
        MODULE = module,
        VARIABLE = crate::name::variable(name),
        OPTIONS = (options + "0"),
        FUNCTIONS = plan.functions.iter().map(row).collect::<String>(),
        ERRNO = flag(plan.functions.iter().any(|function| function.errno)),
        FREES = flag(frees(plan)),
        JUMPS = flag(plan.functions.iter().any(|function| function.jumps.is_some())),
        CALLS_BACK = flag(plan.calls_back()),
        SILENT = flag(plan.has_silent()),
        STREAMS = flag(plan.has_streams()),
        KEEPS_STREAMS = flag(plan.keeps_streams()),
        LENDS = flag(plan.lends()),
        RESTARTS = flag(plan.restarts()),
        FOLLOWS = flag(plan.follows_handles()),
        GIVES_DATA = flag(gives),
        DEFINITIONS = definitions(plan),
    )
}

/// Structures, trampolines, stubs, in the order in which they use each other.
fn definitions(plan: &Plan) -> String {
    let read = |(name, condition)| template!("c/as_read.c.in", NAME = name, CONDITION = condition);
    let mut text: String = as_read(plan).map(read).collect();
    text.extend(numbers_as_read(plan));
    text.extend(declared_as_read(plan));
    text += &promises(plan.functions.iter().map(|function| (&*function.name, &function.prototype)));
    // (What has no name crosses within what has one only.)
    let named = |record: &&RecordPlan| !record.spelling.contains('(');
    for record in plan.records.values().filter(|record| !record.bools.is_empty()).filter(named) {
        text += &record::bools(record);
    }
    for (number, (key, record)) in plan.records.iter().enumerate() {
        if !record.is_plain() || plan.keeps(key) {
            text += &record::functions(key, record, number + 1, plan);
        } else if plan.ends_by_itself(key) {
            text += &record::shown(record, number + 1);
        }
    }
    for callback in plan.callbacks.values() {
        text += &print::function(&callback::trampoline(callback, plan));
    }
    for gate in &plan.gates {
        text += &print::function(&callback::gate(gate, plan));
    }
    let callbacks = plan.callbacks.values().map(|callback| (callback, "call"));
    // (What is at 0 is no type, and what is behind the last gate none.)
    let (callbacks, gates) =
        (rows(callbacks, plan), rows(plan.gates.iter().map(|gate| (gate, "gate")), plan));
    text += &table("lgs_trampolines", NO_ROW, &callbacks);
    text += &table("lgs_gates", &gates, NO_ROW);
    for (number, function) in plan.functions.iter().enumerate() {
        let functions = stub::stub(function, number, plan);
        text.extend(functions.iter().map(print::function));
    }
    text
}

/// What has been read of functions' declarations that compilers go by.
fn promises<'p>(functions: impl Iterator<Item = (&'p str, &'p Prototype)>) -> String {
    // (What gives a format, or says how it is made, is left out, whatever else it promises.)
    let functions = functions.filter(|(_, prototype)| !prototype.format && !prototype.made);
    let checks: String = functions.map(|(name, prototype)| promised(name, prototype)).collect();
    template!("c/promises.c.in", CHECKS = checks)
}

fn promised(name: &str, prototype: &Prototype) -> String {
    let Prototype { noreturn, never_null, aligned, silent, .. } = *prototype;
    // (Asked for a function's attributes, gcc tells also those of the functions that it gives pointers to.)
    let mut given = &prototype.result.shape;
    while let Shape::Pointer(to) = given {
        given = &to.shape;
    }
    let other = matches!(given, Shape::Function(_));
    let read =
        [noreturn, never_null, aligned, silent].map(|is| if is || other { "1" } else { "0" }).join(", ");
    row(format!("LGS_PROMISES({}, {name}, {read});", print::quoted(name)))
}

/// A row for nothing.
const NO_ROW: &str = "{0, 0, 0},";

/// Functions that the domain calls, each with its kind.
fn rows<'p>(functions: impl Iterator<Item = (&'p CallbackPlan, &'static str)>, plan: &Plan) -> String {
    let row = |(CallbackPlan { name, prototype: own, .. }, kind): (&CallbackPlan, &str)| {
        let (own, quoted) = (print::quoted(&prototype(name, own, plan)), print::quoted(name));
        code!(
            "{@NAME@, @PROTOTYPE@, (lg_code)@CODE@},",
            NAME = quoted,
            PROTOTYPE = own,
            CODE = format!("lgs_{kind}_{name}")
        )
    };
    functions.map(row).collect::<Vec<String>>().join("\n")
}

fn table(name: &str, first: &str, last: &str) -> String {
    let rows: Vec<&str> = [first, last].into_iter().filter(|rows| !rows.is_empty()).collect();
    template!("c/table.c.in", NAME = name, ROWS = rows.join("\n"))
}

/// Text for a string literal.
fn quotable(text: &str) -> String {
    text.replace(['"', '\\'], "'")
}

/// A function that fails, in place of one that has no stub.
fn failing_stub(left_out: &LeftOut) -> String {
    let LeftOut { name, prototype, reason, error } = left_out;
    let head = format!("({name})({})", declare::parameters(prototype));
    let back = match error {
        _ if prototype.noreturn => "abort();".to_owned(),
        None => "return;".to_owned(),
        Some(error) => format!("return {};", print::value(&declare::failure(error, &prototype.result))),
    };
    template!(
        "c/failing_stub.c.in",
        HEAD = declare::declare(&prototype.result.spelling, &head),
        NAME = print::quoted(name),
        WHY = print::quoted(&quotable(reason)),
        BACK = back
    )
}

/// The prototype by which a function is bound: variable arguments are the text to print.
fn bound(function: &FunctionPlan, plan: &Plan) -> String {
    let mut own: Prototype = function.prototype.clone();
    if let Some(format) = function.format {
        own.parameters.push(own.parameters[format].clone());
        own.variadic = false;
    }
    if let Some(formatted) = &function.formatted {
        if formatted.list.is_none() {
            own.parameters.push(own.parameters[0].clone());
            own.parameters.last_mut().expect("just pushed").kind = list_type();
            own.variadic = false;
        }
        return prototype(&formatted.by.list, &own, plan);
    }
    prototype(&function.name, &own, plan)
}

/// A `va_list` as a parameter: a pointer.
fn list_type() -> CType {
    let to = CType {
        spelling: "void".into(),
        names: Vec::new(),
        constant: false,
        size: 0,
        shape: Shape::Void,
        enumeration: None,
    };
    CType { spelling: "void *".into(), size: 8, shape: Shape::Pointer(Box::new(to.clone())), ..to }
}

/// `NAME=VALUE` of a command line in the source.
pub fn defined(define: &str) -> String {
    let (name, value) = define.split_once('=').unwrap_or((define, "1"));
    template!("c/default.c.in", NAME = name, VALUE = value)
}

/// Some function gives what the program frees itself.
fn frees(plan: &Plan) -> bool {
    plan.functions.iter().any(|function| !function.freed.is_empty())
}

/// What streams need of the library's libc (`runtime/stream.h`).
const STREAM_EXPORTS: [&str; 10] = [
    "void *fopencookie(void *, void *, uint64_t, uint64_t, uint64_t, uint64_t, void *, void *, void *, void *)",
    "int setvbuf(void *, void *, int, size_t)",
    "void clearerr(void *)",
    "void __fseterr(void *)",
    "int fgetc(void *)",
    "int fflush(void *)",
    "int fclose(void *)",
    "int feof(void *)",
    "int ferror(void *)",
    "uint64_t __freadahead(void *)",
];

/// Exports for the link of the module.
fn exports(plan: &Plan) -> String {
    let head = "// Exports of the module: lockgate cc --exports FILE".to_owned();
    [head].into_iter().chain(exported(plan)).map(row).collect()
}

/// What the module exports: prototypes, or names.
pub fn exported(plan: &Plan) -> Vec<String> {
    let export = |function: &FunctionPlan| match (function.format, &function.formatted) {
        (Some(_), _) => function.name.clone(),
        (None, Some(_)) => bound(function, plan),
        (None, None) => prototype(&function.name, &function.prototype, plan),
    };
    let mut exports: Vec<String> = plan.functions.iter().map(export).collect();
    if plan.functions.iter().any(|function| function.errno) {
        exports.push("void *__errno_location(void)".to_owned());
    }
    if frees(plan) && !plan.functions.iter().any(|function| function.name == "free") {
        exports.push("void free(void *)".to_owned());
    }
    if plan.has_streams() {
        exports.extend(STREAM_EXPORTS.map(str::to_owned));
    }
    exports
}

/// What the module imports: prototypes.
pub fn imported(plan: &Plan) -> Vec<String> {
    plan.gates.iter().map(|gate| prototype(&gate.name, &gate.prototype, plan)).collect()
}

#[cfg(test)]
mod tests {
    use super::runtime;

    /// A header may have macros that are called like functions of the C library's: all that the runtime calls are without them.
    #[test]
    fn the_runtime_calls_what_is_called_so() {
        let text = runtime();
        let without: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("#undef ")).collect();
        let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let comments = text.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, behind)| behind));
        let code: String = comments.collect();
        let called: Vec<&str> = code
            .match_indices('(')
            .filter_map(|(at, _)| code[..at].rsplit(|c| !is_of_word(c)).next())
            .filter(|name| crate::libc::defines(name))
            .collect();
        assert!(called.contains(&"memcpy") && called.contains(&"strlen") && called.contains(&"free"));
        let forgotten: Vec<&&str> = called.iter().filter(|name| !without.contains(name)).collect();
        assert!(forgotten.is_empty(), "{forgotten:?}");
    }
}

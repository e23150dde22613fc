//! The client in C: a header that includes the original one, and a library with the same functions.
mod body;
mod callback;
mod declare;
mod expression;
mod record;

use super::{File, Target};
use crate::header::model::{CType, Prototype, Shape};
use crate::name::word;
use crate::plan::{FunctionPlan, LeftOut, Outcome, Passing, Plan, RecordPlan};
use declare::prototype;
use lockgate_headers::LOCKGATE_STUBS_H;
use std::fmt::Write as _;

/// Parts of `runtime/`, in the order in which they build on each other.
const RUNTIME: &[(&str, &str)] = &[
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

/// The runtime in one file.
fn runtime() -> String {
    let mut runtime = String::from(
        "/* Runtime of clients made by Lockgate. Included once, by the client. */\n#pragma GCC diagnostic ignored \"-Wunused-function\"\n",
    );
    for (_, part) in RUNTIME {
        runtime += "\n";
        runtime += part;
    }
    runtime
}

/// The client's header: the original one, what is missing made unusable with the reason, and what is new.
fn header(plan: &Plan, target: &Target, name: &str) -> String {
    let (guard, short) = (format!("LOCKGATE_CLIENT_{}", word(name).to_uppercase()), word(name));
    let mut text = format!(
        "/* {name}, protected: made by `lockgate stubs`, do not edit. Its functions run in a domain. */\n\
         #include_next <{}>\n#ifndef {guard}\n#define {guard}\n#include <stddef.h>\n#include \"lockgate_stubs.h\"\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n\
         /* Why the last call on this thread returned an error value. */\n\
         const struct lg_stub_error *lg_{short}_error(void);\n\
         /* The same, for bindings: copies the last failure since the last time, and returns its kind. */\n\
         enum lg_stub_kind lg_{short}_take_error(struct lg_stub_error *error);\n\
         /* Bytes of the memory that the last call's result leads to. */\n\
         size_t lg_{short}_given(void);\n\
         /* The same at once, and a call within another one, for bindings of languages that run what they like between two steps. */\n\
         struct lg_stub_call;\n\
         struct lg_stub_aside;\n\
         void lg_{short}_take(struct lg_stub_call *call);\n\
         /* What the next call on this thread fills memory with that the library lends (LG_LENT), for bindings; null if the caller fills it itself. */\n\
         void lg_{short}_fill(const void *contents, size_t size);\n\
         void lg_{short}_aside(struct lg_stub_aside *aside);\n\
         void lg_{short}_back(struct lg_stub_aside *aside);\n\
         /* Memory that the library has, too: buffers in it are passed as they are, not copied. Null if there is none. */\n\
         void *lg_{short}_alloc(size_t size);\n\
         void lg_{short}_free(void *memory);\n\
         /* The same for a region of your own (lg_region_new() and its like): 0 if it cannot be. Read-only if not `writable`. */\n\
         struct lg_region;\n\
         int lg_{short}_share(struct lg_region *region, int writable);\n\
         int lg_{short}_unshare(const void *region_address);\n",
        target.header
    );
    if !plan.left_out.is_empty() && !target.stand_ins {
        // Some of them are deprecated, too.
        text += "#ifndef LOCKGATE_CLIENT_SOURCE\n#pragma GCC diagnostic push\n#pragma GCC diagnostic ignored \"-Wdeprecated-declarations\"\n";
        for LeftOut { name: function, reason, .. } in &plan.left_out {
            let why = quotable(reason);
            let _ = writeln!(
                text,
                "extern __typeof__({function}) {function} __attribute__((unavailable(\"not protected: {why}\")));"
            );
        }
        text += "#pragma GCC diagnostic pop\n#endif\n";
    }
    text + "#ifdef __cplusplus\n}\n#endif\n#endif\n"
}

/// The client's library.
fn source(plan: &Plan, target: &Target, name: &str) -> String {
    let prelude = format!(
        "{}#define LOCKGATE_CLIENT_SOURCE\n#include \"{}\"\n",
        target.defines.iter().map(|define| defined(define)).collect::<String>(),
        target.header
    );
    let module =
        format!("#define LGS_MODULE \"{}\"\n", target.module.replace('\\', "\\\\").replace('"', "\\\""));
    let mut text = stubs(plan, name, &prelude, &module);
    if target.stand_ins {
        text += "\n#pragma GCC diagnostic ignored \"-Wunused-parameter\"\n";
        text += &plan.left_out.iter().map(stand_in).collect::<String>();
    }
    text
}

/// All files of the client of a domain whose module is part of the program: between the symbols `<word>_module` and
/// `<word>_module_end`, with `word` the domain's name. `declarations` are the program's.
pub fn domain(plan: &Plan, name: &str, declarations: &str) -> Vec<File> {
    let word = word(name);
    let module = format!(
        "extern const unsigned char {word}_module[], {word}_module_end[];\n\
         #define LGS_MODULE_BYTES {word}_module\n#define LGS_MODULE_END {word}_module_end\n"
    );
    vec![
        File { name: format!("{word}_client.c"), text: stubs(plan, name, declarations, &module) },
        File { name: "lockgate_stubs.h".into(), text: LOCKGATE_STUBS_H.into() },
        File { name: "lockgate_stubs_runtime.h".into(), text: runtime() },
    ]
}

/// The functions of a client. `prelude` has the API's declarations, `module` says where the module is found.
fn stubs(plan: &Plan, name: &str, prelude: &str, module: &str) -> String {
    let mut text = format!(
        "/* {name}, protected: made by Lockgate, do not edit. */\n{prelude}\n\
         #define LGS_NAME \"{name}\"\n{module}#define LGS_MODULE_VARIABLE \"{}\"\n",
        crate::name::variable(name),
    );
    let options = plan.library.iter().flat_map(|(_, options)| options);
    let _ = writeln!(
        text,
        "#define LGS_OPTIONS {}0",
        options
            .map(|o| format!("\"{}\", ", o.replace('\\', "\\\\").replace('"', "\\\"")))
            .collect::<String>()
    );
    text += "#define LGS_FUNCTIONS";
    for function in &plan.functions {
        let bound = bound(function, plan);
        let policy = function.policy.as_deref().unwrap_or("LG_DEFAULT");
        let _ = write!(text, " \\\n    {{\"{}\", \"{bound}\", {policy}}},", function.name);
    }
    let errno = plan.functions.iter().any(|function| function.errno);
    let _ = write!(text, "\n#define LGS_ERRNO {}", i32::from(errno));
    let _ = write!(text, "\n#define LGS_FREES {}", i32::from(frees(plan)));
    let jumps = plan.functions.iter().any(|function| function.jumps.is_some());
    let _ = write!(text, "\n#define LGS_JUMPS {}", i32::from(jumps));
    let _ = write!(text, "\n#define LGS_STREAMS {}", i32::from(streams(plan)));
    let _ = write!(text, "\n#define LGS_KEEPS_STREAMS {}", i32::from(plan.keeps_streams()));
    let _ = write!(text, "\n#define LGS_LENDS {}", i32::from(plan.lends()));
    let _ = write!(text, "\n#define LGS_RESTARTS {}", i32::from(plan.restarts()));
    let _ = write!(text, "\n#define LGS_FOLLOWS {}", i32::from(plan.follows_handles()));
    let gives = plan.functions.iter().any(|function| matches!(function.result, Outcome::Data { .. }));
    let _ = write!(text, "\n#define LGS_GIVES_DATA {}", i32::from(gives));
    text += "\n#include \"lockgate_stubs_runtime.h\"\n\n";
    let _ = writeln!(
        text,
        "const struct lg_stub_error *lg_{0}_error(void)\n{{\n    return &lgs_thread.error;\n}}\n\n\
         enum lg_stub_kind lg_{0}_take_error(struct lg_stub_error *error)\n{{\n    *error = lgs_thread.error;\n    \
         lgs_thread.error.kind = LG_STUB_NONE;\n    return error->kind;\n}}\n\n\
         size_t lg_{0}_given(void)\n{{\n    return lgs_thread.given;\n}}\n\n\
         void lg_{0}_fill(const void *contents, size_t size)\n{{\n    lgs_binding_fill(contents, size);\n}}\n\n\
         void lg_{0}_take(struct lg_stub_call *call)\n{{\n    lgs_binding_take(call);\n}}\n\n\
         void lg_{0}_aside(struct lg_stub_aside *aside)\n{{\n    lgs_binding_aside(aside);\n}}\n\n\
         void lg_{0}_back(struct lg_stub_aside *aside)\n{{\n    lgs_binding_back(aside);\n}}\n\n\
         void *lg_{0}_alloc(size_t size)\n{{\n    return lgs_shared_alloc(size);\n}}\n\n\
         void lg_{0}_free(void *memory)\n{{\n    lgs_unshare(memory);\n}}\n\n\
         int lg_{0}_share(lg_region *region, int writable)\n{{\n    return lgs_share(region, writable);\n}}\n\n\
         int lg_{0}_unshare(const void *region_address)\n{{\n    return lgs_unshare(region_address);\n}}",
        word(name)
    );
    // (What has no name crosses within what has one only.)
    let named = |record: &&RecordPlan| !record.spelling.contains('(');
    for record in plan.records.values().filter(|record| !record.bools.is_empty()).filter(named) {
        text += &record::bools(record);
    }
    for (number, (key, record)) in plan.records.iter().enumerate() {
        if !record.is_plain() {
            text += &record::functions(record, number + 1, plan);
        } else if plan.ends_by_itself(key) {
            text += &record::shown(record, number + 1);
        }
    }
    for callback in plan.callbacks.values() {
        text += &callback::trampoline(callback, plan);
    }
    for gate in &plan.gates {
        text += &callback::gate(gate, plan);
    }
    text += &callback::table(plan);
    text += &callback::gates(plan);
    for (number, function) in plan.functions.iter().enumerate() {
        text += &body::function(function, number, plan);
    }
    text
}

/// Text for a string literal.
fn quotable(text: &str) -> String {
    text.replace(['"', '\\'], "'")
}

/// A function that fails, in place of one that has no stub.
fn stand_in(left_out: &LeftOut) -> String {
    let LeftOut { name, prototype, reason, error } = left_out;
    let parameters = declare::parameters(prototype);
    let result = &prototype.result.spelling;
    let back = match error {
        _ if prototype.noreturn => "abort();".to_owned(),
        None => "return;".to_owned(),
        Some(error) if error.starts_with('{') => format!("return ({result}){error};"),
        Some(error) => format!("return ({result})({error});"),
    };
    format!(
        "\n{}\n{{\n    lgs_stand_in(\"{name}\", \"{}\");\n    {back}\n}}\n",
        declare::declare(result, &format!("({name})({parameters})")),
        quotable(reason)
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
    // What cannot be written out (a union, bit-fields) the module's own note knows.
    let by_value = |kind: &CType| match &kind.shape {
        Shape::Record(key) => plan.records.get(key).is_none_or(|record| record.fields.is_empty()),
        _ => false,
    };
    if by_value(&own.result) || own.parameters.iter().any(|parameter| by_value(&parameter.kind)) {
        return function.name.clone();
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
fn defined(define: &str) -> String {
    let (name, value) = define.split_once('=').unwrap_or((define, "1"));
    format!("#ifndef {name}\n#define {name} {value}\n#endif\n")
}

/// Some function takes a `FILE`.
fn streams(plan: &Plan) -> bool {
    plan.functions
        .iter()
        .any(|function| function.parameters.iter().any(|passing| matches!(passing, Passing::Stream { .. })))
}

/// Some function gives what the program frees itself.
fn frees(plan: &Plan) -> bool {
    plan.functions.iter().any(|function| !function.freed.is_empty())
}

/// What streams need of the library's libc (`runtime/stream.h`).
const STREAM_EXPORTS: [&str; 3] = [
    "void *fopencookie(void *, void *, uint64_t, uint64_t, uint64_t, uint64_t, void *, void *, void *, void *)",
    "int setvbuf(void *, void *, int, size_t)",
    "void clearerr(void *)",
];

/// Exports for the link of the module.
fn exports(plan: &Plan) -> String {
    let mut text = String::from("// Exports of the module: lockgate cc --exports FILE\n");
    for export in exported(plan) {
        text += &export;
        text += "\n";
    }
    text
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
    if streams(plan) {
        exports.extend(STREAM_EXPORTS.map(str::to_owned));
    }
    exports
}

/// What the module imports: prototypes.
pub fn imported(plan: &Plan) -> Vec<String> {
    plan.gates.iter().map(|gate| prototype(&gate.name, &gate.prototype, plan)).collect()
}

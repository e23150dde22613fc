//! Random headers, a library that answers them at random, and four clients of it: what one language is told, the others are told, or refuse.
//! Those in C and C++ run under AddressSanitizer and UBSan.
//!
//! One of two headers here; `make stubs-differ HEADERS=2000 ANSWERS=500` for more. LOCKGATE_DIFFER_SEED picks the first; what is found names its own.

use crate::installed::{corpus, prefix};
use fastrand::Rng;
use lockgate_bench::command::done;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use support::Part;

const LOCKGATE: &str = env!("CARGO_BIN_EXE_lockgate");
const LIBRARY: &str = include_str!("stubs/differ_library.h");
const HOST_C: &str = include_str!("stubs/differ_host.h");
const HOST_CPP: &str = include_str!("stubs/differ_host.hpp");
const HOST_RUST: &str = include_str!("stubs/differ_host.rs");
const HOST_PYTHON: &str = include_str!("stubs/differ_host.py");

/// Functions of one header.
const FUNCTIONS: usize = 24;

/// A type of numbers, as the languages call it.
#[derive(Clone, Copy, PartialEq)]
struct Number {
    c: &'static str,
    rust: &'static str,
    python: &'static str,
}

const NUMBERS: &[Number] = &[
    Number { c: "int8_t", rust: "i8", python: "c_int8" },
    Number { c: "uint8_t", rust: "u8", python: "c_uint8" },
    Number { c: "int16_t", rust: "i16", python: "c_int16" },
    Number { c: "uint16_t", rust: "u16", python: "c_uint16" },
    Number { c: "int32_t", rust: "i32", python: "c_int32" },
    Number { c: "uint32_t", rust: "u32", python: "c_uint32" },
    Number { c: "int64_t", rust: "i64", python: "c_int64" },
    Number { c: "uint64_t", rust: "u64", python: "c_uint64" },
    Number { c: "float", rust: "f32", python: "c_float" },
    Number { c: "double", rust: "f64", python: "c_double" },
    BOOL,
];
const BOOL: Number = Number { c: "bool", rust: "u8", python: "c_uint8" };
const ENUM: Number = Number { c: "enum df_choice", rust: "DfChoice", python: "df_choice" };

impl Number {
    fn is_float(self) -> bool {
        self.c == "float" || self.c == "double"
    }

    /// Values to give: as all languages write them.
    fn values(self, random: &mut Rng) -> Vec<String> {
        let bits = match self.c {
            "bool" => return vec!["0".into(), "1".into()],
            "float" | "double" => return vec!["0.0".into(), "-1.5".into(), "1e30".into(), "0.25".into()],
            c => c
                .trim_start_matches(|c: char| c.is_alphabetic())
                .trim_end_matches("_t")
                .parse::<u32>()
                .expect("bits"),
        };
        let signed = self.c.starts_with("int");
        let (least, most) = if signed {
            (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
        } else {
            (0, (1_i128 << bits) - 1)
        };
        // (C has no literal for the least number of 64 bits, nor for those beyond.)
        let least = if least < -(1 << 62) { 1 - (1 << 62) } else { least };
        let most = most.min((1 << 62) - 1);
        vec![least.to_string(), most.to_string(), random.u64(..17).to_string(), "1".into()]
    }
}

/// A structure of numbers: fields, each so many of them (1: no array).
struct Record(Vec<(Number, u64)>);

enum Parameter {
    Number(Number),
    Text,
    Array {
        of: Number,
        count: u64,
        reads: bool,
        writes: bool,
    },
    /// An array, and how many of it were written.
    Written(Number, u64),
    Scalar {
        of: Number,
        reads: bool,
    },
    /// (True: the program frees it.)
    TextOut(bool),
    Record {
        reads: bool,
        writes: bool,
    },
}

enum Returned {
    Nothing,
    Number(Number),
    /// (True: the program frees it; so below.)
    Text(bool),
    /// Elements: so many, or as many as a parameter says.
    Array(Number, Option<u64>, bool),
    Record,
    Records(u64),
}

struct Function {
    parameters: Vec<Parameter>,
    result: Returned,
    /// What arguments are made of: by parameter, what each call takes in turn.
    values: Vec<Vec<String>>,
}

/// One that is no character: a pointer to it leads to one.
fn scalar(random: &mut Rng) -> Number {
    NUMBERS[2 + random.u64(..NUMBERS.len() as u64 - 2) as usize]
}

fn number(random: &mut Rng) -> Number {
    NUMBERS[random.u64(..NUMBERS.len() as u64) as usize]
}

fn function(random: &mut Rng) -> Function {
    let mut parameters = Vec::new();
    for _ in 0..random.u64(..5) {
        let count = 1 + random.u64(..9);
        parameters.push(match random.u64(..10) {
            0 => Parameter::Number(number(random)),
            1 => Parameter::Text,
            2 => Parameter::Array { of: number(random), count, reads: true, writes: false },
            3 => Parameter::Array { of: number(random), count, reads: false, writes: true },
            4 => Parameter::Array { of: number(random), count, reads: true, writes: true },
            5 => Parameter::Written(number(random), count),
            6 => Parameter::Scalar {
                of: if random.u64(..4) == 0 { ENUM } else { scalar(random) },
                reads: false,
            },
            7 => Parameter::Scalar { of: scalar(random), reads: true },
            8 => Parameter::TextOut(random.u64(..3) == 0),
            _ => Parameter::Record { reads: random.u64(..2) == 0, writes: true },
        });
    }
    let result = match random.u64(..8) {
        0 => Returned::Nothing,
        1 => Returned::Text(random.u64(..3) == 0),
        2 => Returned::Array(number(random), Some(random.u64(..9)), random.u64(..3) == 0),
        3 => Returned::Array(number(random), None, false),
        4 => Returned::Record,
        5 => Returned::Records(1 + random.u64(..4)),
        6 => Returned::Number(ENUM),
        _ => Returned::Number(number(random)),
    };
    let mut values: Vec<Vec<String>> = parameters
        .iter()
        .map(|parameter| match parameter {
            Parameter::Number(of) | Parameter::Scalar { of, reads: true } => of.values(random),
            Parameter::Array { of, reads: true, .. } => of.values(random),
            _ => Vec::new(),
        })
        .collect();
    if matches!(result, Returned::Array(_, None, _)) {
        parameters.push(Parameter::Number(NUMBERS[5]));
        values.push(["0", "1", "7", "300", "4294967295"].map(str::to_owned).into());
    }
    Function { parameters, result, values }
}

fn header(record: &Record, functions: &[Function]) -> String {
    let mut text = String::from(
        "#pragma once\n#include <lockgate/annotations.h>\n#include <stdbool.h>\n#include <stdint.h>\nLG_DOMAIN(\"df\", memory=32M, time=5000, restart);\n\
         enum df_choice { DF_NONE, DF_FIVE = 5, DF_LESS = -3 };\nvoid df_seed(uint64_t seed);\ntypedef struct {\n",
    );
    for (place, (of, count)) in record.0.iter().enumerate() {
        let array = if *count > 1 { format!("[{count}]") } else { String::new() };
        let _ = writeln!(text, "    {} f{place}{array};", of.c);
    }
    text += "} df_record;\n";
    // What a call that fails returns.
    let fails: BTreeSet<String> = functions
        .iter()
        .filter_map(|function| match &function.result {
            Returned::Number(of) if of.c == ENUM.c => Some(format!("LG_ERRORS({}, DF_NONE);\n", of.c)),
            Returned::Number(of) if of.c.starts_with("int") => Some(format!("LG_ERRORS({}, -1);\n", of.c)),
            Returned::Number(of) if of.c.starts_with("uint") => Some(format!("LG_ERRORS({}, 0);\n", of.c)),
            Returned::Record => Some("LG_ERRORS(df_record, {0});\n".to_owned()),
            _ => None,
        })
        .collect();
    text.extend(fails);
    for (place, function) in functions.iter().enumerate() {
        let _ = writeln!(text, "{};", declared(place, function, true));
    }
    text
}

fn declared(place: usize, function: &Function, annotated: bool) -> String {
    let note = |text: String| if annotated { format!(" {text}") } else { String::new() };
    let mut parameters = Vec::new();
    for (n, parameter) in function.parameters.iter().enumerate() {
        let way = |reads: &bool, writes: &bool| match (reads, writes) {
            (true, true) => "LG_INOUT",
            (true, false) => "LG_IN",
            _ => "LG_OUT",
        };
        parameters.push(match parameter {
            Parameter::Number(of) => format!("{} p{n}", of.c),
            Parameter::Text => format!("const char *p{n}{}", note("LG_STRING".into())),
            Parameter::Array { of, count, reads, writes } => {
                let constant = if *writes { "" } else { "const " };
                format!(
                    "{constant}{} *p{n}{}",
                    of.c,
                    note(match (reads, writes) {
                        (false, true) => format!("LG_OUT LG_SIZE({count}) LG_WRITTEN({count})"),
                        _ => format!("{} LG_SIZE({count})", way(reads, writes)),
                    })
                )
            }
            Parameter::Written(of, count) => {
                let said = note(format!("LG_OUT LG_SIZE({count}) LG_WRITTEN(*w{n})"));
                format!("{} *p{n}{said}, uint32_t *w{n}{}", of.c, note("LG_OUT".into()))
            }
            Parameter::Scalar { of, reads } => format!("{} *p{n}{}", of.c, note(way(reads, &true).into())),
            Parameter::TextOut(false) => format!("const char **p{n}{}", note("LG_OUT LG_STRING".into())),
            Parameter::TextOut(true) => {
                format!("char **p{n}{}", note("LG_OUT LG_STRING LG_FREED(free)".into()))
            }
            Parameter::Record { reads, writes } => {
                format!("df_record *p{n}{}", note(way(reads, writes).into()))
            }
        });
    }
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    let (result, said) = match &function.result {
        Returned::Nothing => ("void ".to_owned(), String::new()),
        Returned::Number(of) => (format!("{} ", of.c), String::new()),
        Returned::Text(false) => ("const char *".to_owned(), "LG_STRING".to_owned()),
        Returned::Text(true) => ("char *".to_owned(), "LG_STRING LG_FREED(free)".to_owned()),
        Returned::Array(of, count, kept) => {
            let count = count
                .map_or_else(|| format!("p{}", function.parameters.len() - 1), |count| count.to_string());
            match kept {
                true => (format!("{} *", of.c), format!("LG_SIZE({count}) LG_FREED(free)")),
                false => (format!("const {} *", of.c), format!("LG_SIZE({count})")),
            }
        }
        Returned::Record => ("df_record ".to_owned(), String::new()),
        Returned::Records(count) => ("const df_record *".to_owned(), format!("LG_IN LG_SIZE({count})")),
    };
    format!("{result}df_{place}({parameters}){}", if said.is_empty() { String::new() } else { note(said) })
}

fn library(functions: &[Function]) -> String {
    let mut text = format!("#include \"df.h\"\n{LIBRARY}\n");
    for (place, function) in functions.iter().enumerate() {
        let _ = writeln!(text, "{}\n{{", declared(place, function, false));
        for (n, parameter) in function.parameters.iter().enumerate() {
            let _ = match parameter {
                Parameter::Array { count, writes: true, .. } => {
                    writeln!(text, "    scribble(p{n}, {count} * sizeof *p{n});")
                }
                Parameter::Written(_, count) => {
                    writeln!(
                        text,
                        "    scribble(p{n}, {count} * sizeof *p{n});\n    if (w{n}) *w{n} = a_count({count});"
                    )
                }
                Parameter::Scalar { .. } | Parameter::Record { .. } => {
                    writeln!(text, "    scribble(p{n}, sizeof *p{n});")
                }
                Parameter::TextOut(kept) => {
                    let place = if *kept { "a_piece(1)" } else { "a_place(1)" };
                    writeln!(text, "    if (p{n}) *p{n} = (void *){place};")
                }
                Parameter::Array { count, .. } => writeln!(text, "    see(p{n}, {count} * sizeof *p{n});"),
                Parameter::Text => writeln!(text, "    see(p{n}, p{n} ? strlen(p{n}) : 0);"),
                Parameter::Number(_) => writeln!(text, "    see(&p{n}, sizeof p{n});"),
            };
        }
        let _ = match &function.result {
            Returned::Nothing => Ok(()),
            Returned::Number(of) => writeln!(
                text,
                "    union {{ unsigned char bytes[16]; {} value; }} answer;\n    scribble(&answer, sizeof answer.value);\n    return answer.value;",
                of.c
            ),
            Returned::Text(true) => writeln!(text, "    return (void *)a_piece(1);"),
            Returned::Text(false) => writeln!(text, "    return (const char *)a_place(1);"),
            Returned::Array(of, _, true) => writeln!(text, "    return (void *)a_piece(sizeof({}));", of.c),
            Returned::Array(of, _, false) => {
                writeln!(text, "    return (const {} *)a_place(sizeof({}));", of.c, of.c)
            }
            Returned::Record => writeln!(
                text,
                "    df_record answer;\n    scribble(&answer, sizeof answer);\n    return answer;"
            ),
            Returned::Records(_) => writeln!(text, "    return (const df_record *)a_place(8);"),
        };
        text += "}\n";
    }
    text
}

/// The argument's value in call `n`, of those in `values`.
fn turn(values: &[String], kind: &str, n: &str) -> String {
    let each: Vec<String> = values
        .iter()
        .enumerate()
        .map(|(place, value)| match kind {
            "" => value.clone(),
            kind => {
                let _ = place;
                format!("({kind})({value}{})", if value.contains(['.', 'e']) { "" } else { "LL" })
            }
        })
        .collect();
    let mut text = each.last().cloned().unwrap_or_default();
    for (place, value) in each.iter().enumerate().rev().skip(1) {
        text = format!("({n} % {} == {place} ? {value} : {text})", each.len());
    }
    text
}

fn host_c(record: &Record, functions: &[Function]) -> String {
    let show = |of: Number, value: &str| match of {
        of if of.is_float() => format!("show_float({value});"),
        of if of == BOOL => format!("show_bool(&{value});"),
        of if of.c == "uint64_t" => format!("show_unsigned({value});"),
        _ => format!("show_signed({value});"),
    };
    let mut text = format!(
        "#include <df.h>\n{HOST_C}\nstatic void show_record(const df_record *r)\n{{\n    show(\"{{\");\n"
    );
    for (place, (of, count)) in record.0.iter().enumerate() {
        if *count > 1 {
            let _ = writeln!(
                text,
                "    for (int i = 0; i < {count}; i++) {{ {} }}",
                show(*of, &format!("r->f{place}[i]"))
            );
        } else {
            let _ = writeln!(text, "    {}", show(*of, &format!("r->f{place}")));
        }
    }
    text += "    show(\"}\");\n}\n";
    for (place, function) in functions.iter().enumerate() {
        let _ = writeln!(text, "static void call_{place}(int n)\n{{\n    (void)n;");
        let (mut arguments, mut given, mut buffers) = (Vec::new(), String::new(), String::new());
        for (n, parameter) in function.parameters.iter().enumerate() {
            let values = &function.values[n];
            match parameter {
                Parameter::Number(of) => arguments.push(turn(values, of.c, "n")),
                Parameter::Text => arguments.push("a_text(n)".to_owned()),
                Parameter::Array { of, count, writes, .. } => {
                    let value =
                        if values.is_empty() { "0".to_owned() } else { turn(values, of.c, "(n + i)") };
                    let _ = writeln!(
                        text,
                        "    {0} *b{n} = room({count} * sizeof({0}));\n    for (int i = 0; i < {count}; i++) b{n}[i] = {value};",
                        of.c
                    );
                    arguments.push(format!("b{n}"));
                    if *writes {
                        let _ = writeln!(
                            buffers,
                            "    show(\"[\"); for (int i = 0; i < {count}; i++) {{ {} }} show(\"]\");",
                            show(*of, &format!("b{n}[i]"))
                        );
                    }
                }
                Parameter::Written(of, count) => {
                    let _ = writeln!(
                        text,
                        "    {0} *b{n} = room({count} * sizeof({0}));\n    memset(b{n}, 0, {count} * sizeof({0}));\n    uint32_t *w{n} = room(4);\n    *w{n} = 77;",
                        of.c
                    );
                    arguments.push(format!("b{n}, w{n}"));
                    let _ = writeln!(
                        buffers,
                        "    show(\"[\"); for (int i = 0; i < {count}; i++) {{ {} }} show(\"]\");",
                        show(*of, &format!("b{n}[i]"))
                    );
                    let _ = writeln!(given, "    show_signed(*w{n});");
                }
                Parameter::Scalar { of, reads } => {
                    let value = if *reads { turn(values, of.c, "n") } else { "0".to_owned() };
                    let _ = writeln!(text, "    {0} *s{n} = room(sizeof({0}));\n    *s{n} = {value};", of.c);
                    arguments.push(format!("s{n}"));
                    let _ = writeln!(given, "    {}", show(*of, &format!("(*s{n})")));
                }
                Parameter::TextOut(kept) => {
                    let _ = writeln!(
                        text,
                        "    {}char *t{n} = (void *)untouched;",
                        if *kept { "" } else { "const " }
                    );
                    arguments.push(format!("&t{n}"));
                    let _ = writeln!(
                        given,
                        "    show_text(t{n});{}",
                        if *kept { " free(t{n});" } else { "" }.replace("{n}", &n.to_string())
                    );
                    // (Nothing that a call which failed has written reaches the program.)
                    let _ =
                        writeln!(buffers, "    if (was_refused && (const void *)t{n} != untouched) abort();");
                }
                Parameter::Record { reads, .. } => {
                    let _ = writeln!(
                        text,
                        "    df_record *r{n} = room(sizeof(df_record));\n    memset(r{n}, 0, sizeof *r{n});"
                    );
                    arguments.push(format!("r{n}"));
                    // (What goes in is the caller's own in the other languages.)
                    let shown = format!("    show_record(r{n});\n");
                    if *reads { buffers += &shown } else { given += &shown }
                }
            }
        }
        let call = format!("df_{place}({})", arguments.join(", "));
        let mut result = String::new();
        let _ = match &function.result {
            Returned::Nothing => writeln!(text, "    {call};"),
            Returned::Number(of) => {
                let _ = writeln!(result, "    {}", show(*of, "lg_got"));
                writeln!(text, "    {} lg_got = {call};", of.c)
            }
            Returned::Text(kept) => {
                let _ = writeln!(
                    result,
                    "    show_text(lg_got);{}",
                    if *kept { " free((void *)lg_got);" } else { "" }
                );
                writeln!(text, "    const char *lg_got = {call};")
            }
            Returned::Array(of, count, kept) => {
                let last = function.parameters.len().wrapping_sub(1);
                let count = count
                    .map_or_else(|| turn(&function.values[last], "uint32_t", "n"), |count| count.to_string());
                let _ = writeln!(
                    result,
                    "    if (!lg_got) show(\"null\"); else {{ show(\"[\"); for (uint64_t i = 0; i < (uint64_t)({count}); i++) {{ {} }} show(\"]\"); }}",
                    show(*of, "lg_got[i]")
                );
                if *kept {
                    result += "    free((void *)lg_got);\n";
                }
                writeln!(text, "    const {} *lg_got = {call};", of.c)
            }
            Returned::Record => {
                let _ = writeln!(result, "    show_record(&lg_got);");
                writeln!(text, "    df_record lg_got = {call};")
            }
            Returned::Records(count) => {
                let _ = writeln!(
                    result,
                    "    for (int i = 0; lg_got && i < {count}; i++) show_record(&lg_got[i]);"
                );
                writeln!(text, "    const df_record *lg_got = {call};")
            }
        };
        let _ = writeln!(
            text,
            "    int was_refused = failed();\n    (void)was_refused;\n    if (!was_refused) {{\n{result}{given}    }}\n{buffers}    give_back();\n}}"
        );
    }
    text += "static void (*const calls[])(int) = {";
    text += &(0..functions.len()).map(|place| format!("call_{place}, ")).collect::<String>();
    text + "};\nMAIN\n"
}

fn host_cpp(record: &Record, functions: &[Function]) -> String {
    let show = |of: Number, value: &str| match of.is_float() {
        true => format!("show_float({value});"),
        false => format!("show_number({value});"),
    };
    let all = |of: Number, values: &str| {
        format!(
            "    show(\"[\"); for (const auto &value : {values}) {{ {} }} show(\"]\");\n",
            show(of, "value")
        )
    };
    let mut text =
        format!("{HOST_CPP}\nstatic void show_record(const df_record &r)\n{{\n    show(\"{{\");\n");
    for (place, (of, count)) in record.0.iter().enumerate() {
        let _ = match count {
            1 => writeln!(text, "    {}", show(*of, &format!("r.f{place}"))),
            _ => writeln!(text, "    for (const auto &value : r.f{place}) {{ {} }}", show(*of, "value")),
        };
    }
    text += "    show(\"}\");\n}\nRECORDS\n";
    for (place, function) in functions.iter().enumerate() {
        let _ = writeln!(text, "static void call_{place}([[maybe_unused]] int n)\n{{");
        // What comes back, in order: its name, and what shows it.
        let mut back: Vec<(String, String)> = Vec::new();
        let (mut arguments, mut buffers) = (Vec::new(), String::new());
        for (n, parameter) in function.parameters.iter().enumerate() {
            let values = &function.values[n];
            match parameter {
                Parameter::Number(of) => arguments.push(turn(values, of.c, "n")),
                Parameter::Text => arguments.push("a_text(n)".to_owned()),
                Parameter::Array { of, count, .. } | Parameter::Written(of, count) => {
                    let value =
                        if values.is_empty() { "{}".to_owned() } else { turn(values, of.c, "(n + i)") };
                    let _ = writeln!(
                        text,
                        "    std::array<{}, {count}> b{n};\n    for (int i = 0; i < {count}; i++) b{n}[i] = {value};",
                        of.c
                    );
                    arguments.push(format!("b{n}"));
                    if !matches!(parameter, Parameter::Array { writes: false, .. }) {
                        buffers += &all(*of, &format!("b{n}"));
                    }
                    if matches!(parameter, Parameter::Written(..)) {
                        back.push((format!("w{n}"), format!("show_number(w{n});")));
                    }
                }
                Parameter::Scalar { of, reads } => {
                    if *reads {
                        arguments.push(turn(values, of.c, "n"));
                    }
                    back.push((format!("p{n}"), show(*of, &format!("p{n}"))));
                }
                Parameter::TextOut(_) => back.push((format!("p{n}"), format!("show_text(p{n});"))),
                Parameter::Record { reads: true, .. } => {
                    let _ = writeln!(text, "    df_record r{n}{{}};");
                    arguments.push(format!("r{n}"));
                    let _ = writeln!(buffers, "    show_record(r{n});");
                }
                Parameter::Record { .. } => back.push((format!("p{n}"), format!("show_record(p{n});"))),
            }
        }
        let result = match &function.result {
            Returned::Nothing => None,
            Returned::Number(of) => Some(show(*of, "result")),
            Returned::Text(_) => Some("show_text(result);".to_owned()),
            Returned::Array(of, ..) => {
                Some(format!("if (!result) show(\"null\"); else {{ {} }}", all(*of, "*result")))
            }
            Returned::Record => Some("show_record(result);".to_owned()),
            Returned::Records(_) => Some("show_records(result);".to_owned()),
        };
        back.splice(0..0, result.map(|shown| ("result".to_owned(), shown)));
        let names: Vec<&str> = back.iter().map(|(name, _)| name.as_str()).collect();
        let taken = match &*names {
            [] => String::new(),
            [one] => format!("auto {one} = "),
            all => format!("auto [{}] = ", all.join(", ")),
        };
        let shown: String = back.iter().map(|(_, shown)| format!("        {shown}\n")).collect();
        let _ = writeln!(
            text,
            "    try {{\n        {taken}df::df_{place}({});\n{shown}    }} catch (const df::error &error) {{\n        show_error(error);\n    }}\n{buffers}}}",
            arguments.join(", ")
        );
    }
    let calls: String = (0..functions.len()).map(|place| format!("call_{place}, ")).collect();
    text + &format!(
        "int main(int count, char **arguments)\n{{\n    run(count, arguments, {{{calls}}});\n}}\n"
    )
}

fn host_rust(record: &Record, functions: &[Function]) -> String {
    let show = |of: Number, value: &str| match of {
        of if of.is_float() => format!("show_float(f64::from({value}));"),
        of if of == ENUM => format!("show_number({value} as i64);"),
        _ => format!("show_number({value});"),
    };
    let mut text = format!("{HOST_RUST}\nfn show_record(r: &DfRecord) {{\n    show(\"{{\");\n");
    for (place, (of, count)) in record.0.iter().enumerate() {
        let of = if *of == ENUM { NUMBERS[4] } else { *of };
        if *count > 1 {
            let _ = writeln!(text, "    for value in r.f{place} {{ {} }}", show(of, "value"));
        } else {
            let _ = writeln!(text, "    {}", show(of, &format!("r.f{place}")));
        }
    }
    text += "    show(\"}\");\n}\n";
    let rust = |text: &str| text.replace("LL", "");
    for (place, function) in functions.iter().enumerate() {
        let _ = writeln!(text, "fn call_{place}(n: i32) {{\n    let _ = n;");
        let (mut arguments, mut names, mut given, mut buffers) =
            (Vec::new(), Vec::new(), String::new(), String::new());
        for (n, parameter) in function.parameters.iter().enumerate() {
            let values = &function.values[n];
            let pick = |of: Number, n: &str| {
                let values: Vec<String> = values
                    .iter()
                    .map(|value| if of.is_float() { format!("{value}_{}", of.rust) } else { value.clone() })
                    .collect();
                format!("[{}][({n}) as usize % {}]", values.join(", "), values.len())
            };
            match parameter {
                Parameter::Number(of) if *of == BOOL => arguments.push(pick(*of, "n")),
                Parameter::Number(of) => arguments.push(pick(*of, "n")),
                Parameter::Text => arguments.push("a_text(n).as_c_str()".to_owned()),
                Parameter::Array { of, count, reads, writes } => {
                    let value =
                        if values.is_empty() { format!("0 as {}", of.rust) } else { pick(*of, "n + i") };
                    let _ = writeln!(
                        text,
                        "    let {}b{n}: Vec<{}> = (0..{count}).map(|i: i32| {{ let _ = i; {value} }}).collect();",
                        if *writes { "mut " } else { "" },
                        of.rust
                    );
                    let _ = reads;
                    arguments.push(format!("&{}b{n}", if *writes { "mut " } else { "" }));
                    if *writes {
                        let _ = writeln!(
                            buffers,
                            "    show(\"[\"); for value in b{n} {{ {} }} show(\"]\");",
                            show(*of, "value")
                        );
                    }
                }
                Parameter::Written(of, count) => {
                    let _ = writeln!(text, "    let mut b{n} = [0 as {}; {count}];", of.rust);
                    arguments.push(format!("&mut b{n}"));
                    let _ = writeln!(
                        buffers,
                        "    show(\"[\"); for value in b{n} {{ {} }} show(\"]\");",
                        show(*of, "value")
                    );
                    names.push(format!("w{n}"));
                    let _ = writeln!(given, "        show_number(w{n});");
                }
                Parameter::Scalar { of, reads } => {
                    if *reads {
                        arguments.push(pick(*of, "n"));
                    }
                    names.push(format!("s{n}"));
                    let _ = writeln!(given, "        {}", show(*of, &format!("s{n}")));
                }
                Parameter::TextOut(_) => {
                    names.push(format!("t{n}"));
                    let _ = writeln!(given, "        show_text(t{n});");
                }
                Parameter::Record { reads: true, .. } => {
                    let _ = writeln!(text, "    let mut r{n} = DfRecord::default();");
                    arguments.push(format!("&mut r{n}"));
                    let _ = writeln!(buffers, "    show_record(&r{n});");
                }
                Parameter::Record { .. } => {
                    names.push(format!("r{n}"));
                    let _ = writeln!(given, "        show_record(&r{n});");
                }
            }
        }
        let mut result = String::new();
        let _ = match &function.result {
            Returned::Nothing => Ok(()),
            Returned::Number(of) => writeln!(result, "        {}", show(*of, "got")),
            Returned::Text(_) => writeln!(result, "        show_text(got);"),
            Returned::Array(of, _, _) => writeln!(
                result,
                "        match got {{ None => show(\"null\"), Some(all) => {{ show(\"[\"); for value in all.iter().copied() {{ {} }} show(\"]\") }} }}",
                show(*of, "value")
            ),
            Returned::Record => writeln!(result, "        show_record(&got);"),
            Returned::Records(1) => writeln!(result, "        got.iter().for_each(show_record);"),
            Returned::Records(_) => writeln!(result, "        got.iter().for_each(show_record);"),
        };
        if !matches!(function.result, Returned::Nothing) {
            names.insert(0, "got".to_owned());
        }
        let pattern = if names.len() == 1 { names[0].clone() } else { format!("({})", names.join(", ")) };
        let _ = writeln!(
            text,
            "    match df_{place}({}) {{\n        Err(error) => show_error(&error),\n        Ok({pattern}) => {{\n{result}{given}        }}\n    }}\n{buffers}}}",
            rust(&arguments.join(", "))
        );
    }
    let _ = writeln!(
        text,
        "const CALLS: &[fn(i32)] = &[{}];",
        (0..functions.len()).map(|place| format!("call_{place}, ")).collect::<String>()
    );
    text
}

fn host_python(record: &Record, functions: &[Function]) -> String {
    let show = |of: Number, value: &str| match of {
        of if of.is_float() => format!("show_float({value})"),
        _ => format!("show(int({value}))"),
    };
    let mut text = format!("{HOST_PYTHON}\n\ndef show_record(r):\n    show(\"{{\")\n");
    for (place, (of, count)) in record.0.iter().enumerate() {
        if *count > 1 {
            let _ = writeln!(text, "    for value in r.f{place}:\n        {}", show(*of, "value"));
        } else {
            let _ = writeln!(text, "    {}", show(*of, &format!("r.f{place}")));
        }
    }
    text += "    show(\"}\")\n\n\n";
    for (place, function) in functions.iter().enumerate() {
        let _ = writeln!(text, "def call_{place}(n):");
        let (mut arguments, mut names, mut given, mut buffers) =
            (Vec::new(), Vec::new(), String::new(), String::new());
        for (n, parameter) in function.parameters.iter().enumerate() {
            let values = &function.values[n];
            let pick = |n: &str| format!("[{}][({n}) % {}]", values.join(", "), values.len());
            match parameter {
                Parameter::Number(_) => arguments.push(pick("n")),
                Parameter::Text => arguments.push("a_text(n)".to_owned()),
                Parameter::Array { of, count, writes, .. } => {
                    let value = if values.is_empty() { "0".to_owned() } else { pick("n + i") };
                    let _ = writeln!(
                        text,
                        "    b{n} = (ctypes.{} * {count})(*[{value} for i in range({count})])",
                        of.python
                    );
                    arguments.push(format!("b{n}"));
                    if *writes {
                        let _ = writeln!(
                            buffers,
                            "    show(\"[\")\n    for value in b{n}:\n        {}\n    show(\"]\")",
                            show(*of, "value")
                        );
                    }
                }
                Parameter::Written(of, count) => {
                    let _ = writeln!(text, "    b{n} = (ctypes.{} * {count})()", of.python);
                    arguments.push(format!("b{n}"));
                    let _ = writeln!(
                        buffers,
                        "    show(\"[\")\n    for value in b{n}:\n        {}\n    show(\"]\")",
                        show(*of, "value")
                    );
                    names.push(format!("w{n}"));
                    let _ = writeln!(given, "        show(w{n})");
                }
                Parameter::Scalar { of, reads } => {
                    if *reads {
                        arguments.push(pick("n"));
                    }
                    names.push(format!("s{n}"));
                    let _ = writeln!(given, "        {}", show(*of, &format!("s{n}")));
                }
                Parameter::TextOut(_) => {
                    names.push(format!("t{n}"));
                    let _ = writeln!(given, "        show_text(t{n})");
                }
                Parameter::Record { reads: true, .. } => {
                    let _ = writeln!(text, "    r{n} = df.df_record()");
                    arguments.push(format!("r{n}"));
                    let _ = writeln!(buffers, "    show_record(r{n})");
                }
                Parameter::Record { .. } => {
                    names.push(format!("r{n}"));
                    let _ = writeln!(given, "        show_record(r{n})");
                }
            }
        }
        let mut result = String::new();
        let _ = match &function.result {
            Returned::Nothing => Ok(()),
            Returned::Number(of) => writeln!(result, "        {}", show(*of, "got")),
            Returned::Text(_) => writeln!(result, "        show_text(got)"),
            Returned::Array(of, _, _) => writeln!(
                result,
                "        if got is None:\n            show(\"null\")\n        else:\n            show(\"[\")\n            for value in got:\n                {}\n            show(\"]\")",
                show(*of, "value")
            ),
            Returned::Record => writeln!(result, "        show_record(got)"),
            Returned::Records(_) => {
                writeln!(result, "        for value in got or []:\n            show_record(value)")
            }
        };
        if !matches!(function.result, Returned::Nothing) {
            names.insert(0, "got".to_owned());
        }
        let pattern = if names.is_empty() { "_".to_owned() } else { names.join(", ") };
        let _ = writeln!(
            text,
            "    try:\n        {pattern} = df.df_{place}({})\n{result}{given}    except df.Error as error:\n        show_error(error)\n{buffers}\n",
            arguments.join(", ")
        );
    }
    let _ = writeln!(
        text,
        "calls = [{}]\nmain(calls)",
        (0..functions.len()).map(|place| format!("call_{place}, ")).collect::<String>()
    );
    text
}

/// What the four say of one header, call by call.
fn differ(seed: u64, answers: u64) -> [Vec<String>; 4] {
    let random = &mut Rng::with_seed(seed);
    let fields = 1 + random.u64(..6);
    let field = |random: &mut Rng| {
        let of = if random.u64(..8) == 0 { ENUM } else { number(random) };
        (of, if random.u64(..4) == 0 { 2 + random.u64(..3) } else { 1 })
    };
    let record = Record((0..fields).map(|_| field(random)).collect());
    let functions: Vec<Function> = (0..FUNCTIONS).map(|_| function(random)).collect();
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str| {
        std::fs::create_dir_all(path(name).parent().expect("a folder")).expect("a folder");
        std::fs::write(path(name), text).expect("a file");
    };
    write("df.h", &header(&record, &functions));
    write("library.c", &library(&functions));
    write("host.c", &host_c(&record, &functions));
    write("host.cpp", &host_cpp(&record, &functions));
    write("program/src/main.rs", &host_rust(&record, &functions));
    write("host.py", &host_python(&record, &functions));
    write(
        "program/Cargo.toml",
        "[package]\nname = \"program\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         df-protected = { path = \"../bindings\" }\n\n[profile.dev]\ndebug = false\n",
    );
    if let Some(keep) = std::env::var_os("LOCKGATE_DIFFER_KEEP") {
        done(Command::new("cp").arg("-r").arg(folder.path()).arg(Path::new(&keep).join(seed.to_string())))
            .expect("a copy");
    }
    let include = format!("-I{}", corpus().root().join("crates/lockgate-headers/include").display());
    let mut stubs = Command::new(LOCKGATE);
    stubs.arg("stubs").arg(path("df.h")).arg(&include).arg("-m").arg(path("df.lg"));
    done(stubs.args(["-l", "cpp", "-l", "rust", "-l", "python", "-o"]).arg(path("bindings")))
        .unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
    let mut link = Command::new(LOCKGATE);
    link.args(["cc", "-g", "-O0", "-w", &include]).arg(path("library.c")).arg("-o").arg(path("df.lg"));
    done(link.arg("--exports").arg(path("bindings/client/df.exports"))).expect("it links");
    let client = path("bindings/client/df_client.c");
    let library = prefix().join("lib");
    let compile = |compiler: &str, options: &[&str], output: &str| {
        let mut compile = Command::new(compiler);
        compile
            .args(["-g", "-O0", "-w"])
            .args(options)
            .arg("-I")
            .arg(path("bindings/client"))
            .arg("-I")
            .arg(folder.path());
        compile.arg(&include).arg("-I").arg(prefix().join("include")).arg("-o").arg(path(output));
        compile
    };
    let linked = |compile: &mut Command| {
        compile.arg("-L").arg(&library).arg("-llockgate").arg(format!("-Wl,-rpath,{}", library.display()));
        done(compile.args(["-lpthread", "-lm"])).unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
    };
    const SANITIZED: [&str; 2] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let object = path("client.o");
    done(compile("gcc", &SANITIZED, "client.o").arg("-c").arg(&client))
        .unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
    linked(compile("gcc", &SANITIZED, "host").arg(&object).arg(path("host.c")));
    let mut cpp = compile("g++", &SANITIZED, "host-cpp");
    linked(cpp.arg("-I").arg(path("bindings")).arg(&object).arg(path("host.cpp")));
    let catching = path("bindings/client/df_catching.c");
    linked(compile("gcc", &["-shared", "-fPIC"], "bindings/libdf_client.so").arg(&client).arg(catching));
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--offline", "--quiet"])
        .current_dir(path("program"))
        .env("CARGO_TARGET_DIR", path("target"))
        .env("CARGO_INCREMENTAL", "0");
    cargo.env_remove("CARGO_ENCODED_RUSTFLAGS").env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
    done(&mut cargo).unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
    let said = |command: &mut Command| {
        command.arg(answers.to_string()).arg(seed.to_string()).current_dir(folder.path());
        let text = done(command.env("ASAN_OPTIONS", "detect_leaks=0"))
            .unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
        text.lines().map(str::to_owned).collect()
    };
    let mut python = Command::new("python3");
    python.arg(path("host.py")).env("PYTHONPATH", path("bindings")).env("PYTHONDONTWRITEBYTECODE", "1");
    [
        said(&mut Command::new(path("host"))),
        said(&mut Command::new(path("host-cpp"))),
        said(&mut Command::new(path("target/debug/program"))),
        said(python.env("LD_LIBRARY_PATH", &library)),
    ]
}

/// As much of a line as one reads.
fn short(line: &str) -> String {
    line.chars().take(600).collect()
}

/// The same value, or (where the number is none of an enumeration) a refusal.
fn agree(c: &str, other: &str) -> bool {
    c == other || !c.contains(" E ") && other.contains(" E Value ")
}

#[test]
fn clients_in_four_languages_say_the_same() {
    let from_environment = |name: &str, otherwise: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let headers = from_environment("LOCKGATE_DIFFER_HEADERS", 2);
    let part = Part::one_in(if headers == 2 { 2 } else { 1 }, "headers");
    let answers = from_environment("LOCKGATE_DIFFER_ANSWERS", 40);
    let first = from_environment("LOCKGATE_DIFFER_SEED", 1);
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    let mut wrong = String::new();
    for seed in part.among(first..first + headers) {
        let [c, others @ ..] = differ(seed, answers);
        assert_eq!(c.len() as u64, answers * FUNCTIONS as u64, "seed {seed}: {:?}", c.last());
        assert_eq!(others.each_ref().map(Vec::len), [c.len(); 3], "seed {seed}");
        let mut found = 0;
        for (call, c) in c.iter().enumerate() {
            let others = others.each_ref().map(|said| said[call].as_str());
            let kind =
                c.split_once(" E ").map_or("value", |(_, kind)| kind.split(' ').next().unwrap_or_default());
            *kinds.entry(kind.to_owned()).or_default() += 1;
            if !others.iter().all(|other| agree(c, other)) && found < 5 {
                found += 1;
                let (c, [cpp, rust, python]) = (short(c), others.map(short));
                let _ = writeln!(
                    wrong,
                    "seed {seed}:
  C:      {c}
  C++:    {cpp}
  Rust:   {rust}
  Python: {python}"
                );
            }
        }
        if headers > 10 {
            eprintln!("seed {seed}: {found} found; {kinds:?}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let values = kinds.get("value").copied().unwrap_or_default();
    let all: u64 = kinds.values().sum();
    assert!(values * 4 > all && values < all, "{kinds:?}");
}

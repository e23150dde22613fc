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
use std::sync::Mutex;
use std::thread::available_parallelism;
use support::Part;

const LOCKGATE: &str = env!("CARGO_BIN_EXE_lockgate");
const LIBRARY: &str = include_str!("stubs/differ_library.h");
const HOST_C: &str = include_str!("stubs/differ_host.h");
const HOST_CPP: &str = include_str!("stubs/differ_host.hpp");
const HOST_RUST: &str = include_str!("stubs/differ_host.rs");
const HOST_PYTHON: &str = include_str!("stubs/differ_host.py");

/// Functions of one header.
const FUNCTIONS: usize = 24;

/// Headers that share a client and its programs, because compilers read for each program what all have in common. (And no more: the larger a
/// client, the longer its domain takes to start again after a fault.)
const TOGETHER: usize = 8;

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
const BOOL: Number = Number { c: "bool", rust: "bool", python: "c_uint8" };
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
    if let Returned::Array(of, None, _) = result {
        parameters.push(Parameter::Number(NUMBERS[5]));
        // Elements of one byte: more than the domain's memory is enough. (A client's room of 4 GiB costs nothing, but the sanitizer fills
        // half a GiB of its own for each: that took nine tenths of the whole time.)
        let most = if matches!(of.c, "int8_t" | "uint8_t" | "bool") { "34000000" } else { "4294967295" };
        values.push(["0", "1", "7", "300", most].map(str::to_owned).into());
    }
    Function { parameters, result, values }
}

/// What follows from one seed. Its names have the seed in them.
struct Header {
    seed: u64,
    record: Record,
    functions: Vec<Function>,
}

impl Header {
    fn new(seed: u64) -> Header {
        let random = &mut Rng::with_seed(seed);
        let fields = 1 + random.u64(..6);
        let field = |random: &mut Rng| {
            let of = if random.u64(..8) == 0 { ENUM } else { number(random) };
            (of, if random.u64(..4) == 0 { 2 + random.u64(..3) } else { 1 })
        };
        let record = Record((0..fields).map(|_| field(random)).collect());
        let functions = (0..FUNCTIONS).map(|_| function(random)).collect();
        Header { seed, record, functions }
    }
}

fn header(headers: &[Header]) -> String {
    let mut text = String::from(
        "#pragma once\n#include <lockgate/annotations.h>\n#include <stdbool.h>\n#include <stdint.h>\nLG_DOMAIN(\"df\", memory=32M, time=5000, restart);\n\
         enum df_choice { DF_NONE, DF_FIVE = 5, DF_LESS = -3 };\nvoid df_seed(uint64_t seed);\n",
    );
    // What a call that fails returns.
    let fails: BTreeSet<String> = headers
        .iter()
        .flat_map(|header| &header.functions)
        .filter_map(|function| match &function.result {
            Returned::Number(of) if of.c == ENUM.c => Some(format!("LG_ERRORS({}, DF_NONE);\n", of.c)),
            Returned::Number(of) if of.c.starts_with("int") => Some(format!("LG_ERRORS({}, -1);\n", of.c)),
            Returned::Number(of) if of.c.starts_with("uint") => Some(format!("LG_ERRORS({}, 0);\n", of.c)),
            _ => None,
        })
        .collect();
    text.extend(fails);
    for Header { seed, record, functions } in headers {
        text += "typedef struct {\n";
        for (place, (of, count)) in record.0.iter().enumerate() {
            let array = if *count > 1 { format!("[{count}]") } else { String::new() };
            let _ = writeln!(text, "    {} f{place}{array};", of.c);
        }
        let _ = writeln!(text, "}} df{seed}_record;");
        if functions.iter().any(|function| matches!(function.result, Returned::Record)) {
            let _ = writeln!(text, "LG_ERRORS(df{seed}_record, {{0}});");
        }
        for (place, function) in functions.iter().enumerate() {
            let _ = writeln!(text, "{};", declared(*seed, place, function, true));
        }
    }
    text
}

/// Each function, with its header's seed and its place there.
fn all_of(headers: &[Header]) -> impl Iterator<Item = (u64, usize, &Function)> {
    headers.iter().flat_map(|Header { seed, functions, .. }| {
        functions.iter().enumerate().map(|(place, function)| (*seed, place, function))
    })
}

fn declared(seed: u64, place: usize, function: &Function, annotated: bool) -> String {
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
                format!("df{seed}_record *p{n}{}", note(way(reads, writes).into()))
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
        Returned::Record => (format!("df{seed}_record "), String::new()),
        Returned::Records(count) => (format!("const df{seed}_record *"), format!("LG_IN LG_SIZE({count})")),
    };
    format!(
        "{result}df{seed}_{place}({parameters}){}",
        if said.is_empty() { String::new() } else { note(said) }
    )
}

fn library(headers: &[Header]) -> String {
    let mut text = format!("#include \"df.h\"\n{LIBRARY}\n");
    for (seed, place, function) in all_of(headers) {
        let _ = writeln!(text, "{}\n{{", declared(seed, place, function, false));
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
                "    df{seed}_record answer;\n    scribble(&answer, sizeof answer);\n    return answer;"
            ),
            Returned::Records(_) => writeln!(text, "    return (const df{seed}_record *)a_place(8);"),
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

/// The calls of one header, in the order of its functions.
fn calls(seed: u64) -> String {
    (0..FUNCTIONS).map(|place| format!("call_{seed}_{place}, ")).collect()
}

/// A program: what all have in common, what each header adds, and what runs the calls of each.
fn host(common: &str, headers: &[Header], part: fn(&Header) -> String, main: [&str; 2]) -> String {
    let parts: String = headers.iter().map(part).collect();
    let runs: String = headers
        .iter()
        .map(|Header { seed, .. }| main[1].replace("SEED", &seed.to_string()).replace("CALLS", &calls(*seed)))
        .collect();
    format!("{common}\n{parts}{}", main[0].replace("RUNS", &runs))
}

fn host_c(headers: &[Header]) -> String {
    let run = "    run(answers, SEED, (void (*const[])(int)){CALLS0});\n";
    host(
        HOST_C,
        headers,
        part_c,
        ["int main(int count, char **arguments)\n{\n    int answers = atoi(arguments[1]);\nRUNS}\n", run],
    )
}

fn part_c(Header { seed, record, functions }: &Header) -> String {
    let show = |of: Number, value: &str| match of {
        of if of.is_float() => format!("show_float({value});"),
        of if of == BOOL => format!("show_bool(&{value});"),
        of if of.c == "uint64_t" => format!("show_unsigned({value});"),
        _ => format!("show_signed({value});"),
    };
    let mut text =
        format!("static void show_record_{seed}(const df{seed}_record *r)\n{{\n    show(\"{{\");\n");
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
        let _ = writeln!(text, "static void call_{seed}_{place}(int n)\n{{\n    (void)n;");
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
                        "    df{seed}_record *r{n} = room(sizeof(df{seed}_record));\n    memset(r{n}, 0, sizeof *r{n});"
                    );
                    arguments.push(format!("r{n}"));
                    // (What goes in is the caller's own in the other languages.)
                    let shown = format!("    show_record_{seed}(r{n});\n");
                    if *reads { buffers += &shown } else { given += &shown }
                }
            }
        }
        let call = format!("df{seed}_{place}({})", arguments.join(", "));
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
                let _ = writeln!(result, "    show_record_{seed}(&lg_got);");
                writeln!(text, "    df{seed}_record lg_got = {call};")
            }
            Returned::Records(count) => {
                let _ = writeln!(
                    result,
                    "    for (int i = 0; lg_got && i < {count}; i++) show_record_{seed}(&lg_got[i]);"
                );
                writeln!(text, "    const df{seed}_record *lg_got = {call};")
            }
        };
        let _ = writeln!(
            text,
            "    int was_refused = failed();\n    (void)was_refused;\n    if (!was_refused) {{\n{result}{given}    }}\n{buffers}    give_back();\n}}"
        );
    }
    text
}

fn host_cpp(headers: &[Header]) -> String {
    let run = "    run(answers, SEED, {CALLS});\n";
    host(
        HOST_CPP,
        headers,
        part_cpp,
        [
            "int main(int count, char **arguments)\n{\n    int answers = std::atoi(arguments[1]);\nRUNS}\n",
            run,
        ],
    )
}

fn part_cpp(Header { seed, record, functions }: &Header) -> String {
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
    let mut text = format!("static void show_record(const df{seed}_record &r)\n{{\n    show(\"{{\");\n");
    for (place, (of, count)) in record.0.iter().enumerate() {
        let _ = match count {
            1 => writeln!(text, "    {}", show(*of, &format!("r.f{place}"))),
            _ => writeln!(text, "    for (const auto &value : r.f{place}) {{ {} }}", show(*of, "value")),
        };
    }
    text += "    show(\"}\");\n}\n";
    for (place, function) in functions.iter().enumerate() {
        let _ = writeln!(text, "static void call_{seed}_{place}([[maybe_unused]] int n)\n{{");
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
                    let _ = writeln!(text, "    df{seed}_record r{n}{{}};");
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
            "    try {{\n        {taken}df::df{seed}_{place}({});\n{shown}    }} catch (const df::error &error) {{\n        show_error(error);\n    }}\n{buffers}}}",
            arguments.join(", ")
        );
    }
    text
}

fn host_rust(headers: &[Header]) -> String {
    host(HOST_RUST, headers, part_rust, ["fn main() {\nRUNS}\n", "    run(SEED, &[CALLS]);\n"])
}

fn part_rust(Header { seed, record, functions }: &Header) -> String {
    let show = |of: Number, value: &str| match of {
        of if of.is_float() => format!("show_float(f64::from({value}));"),
        of if of == ENUM => format!("show_number({value} as i64);"),
        of if of == BOOL => format!("show_number(i32::from({value}));"),
        _ => format!("show_number({value});"),
    };
    let mut text = format!("fn show_record_{seed}(r: &Df{seed}Record) {{\n    show(\"{{\");\n");
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
        let _ = writeln!(text, "fn call_{seed}_{place}(n: i32) {{\n    let _ = n;");
        let (mut arguments, mut names, mut given, mut buffers) =
            (Vec::new(), Vec::new(), String::new(), String::new());
        for (n, parameter) in function.parameters.iter().enumerate() {
            let values = &function.values[n];
            let pick = |of: Number, n: &str| {
                let values: Vec<String> = values
                    .iter()
                    .map(|value| match of {
                        of if of.is_float() => format!("{value}_{}", of.rust),
                        of if of == BOOL => (value != "0").to_string(),
                        _ => value.clone(),
                    })
                    .collect();
                format!("[{}][({n}) as usize % {}]", values.join(", "), values.len())
            };
            match parameter {
                Parameter::Number(of) if *of == BOOL => arguments.push(pick(*of, "n")),
                Parameter::Number(of) => arguments.push(pick(*of, "n")),
                Parameter::Text => arguments.push("a_text(n).as_c_str()".to_owned()),
                Parameter::Array { of, count, reads, writes } => {
                    let value = if values.is_empty() {
                        format!("{}::default()", of.rust)
                    } else {
                        pick(*of, "n + i")
                    };
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
                    let _ = writeln!(text, "    let mut b{n} = [{}::default(); {count}];", of.rust);
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
                    let _ = writeln!(text, "    let mut r{n} = Df{seed}Record::default();");
                    arguments.push(format!("&mut r{n}"));
                    let _ = writeln!(buffers, "    show_record_{seed}(&r{n});");
                }
                Parameter::Record { .. } => {
                    names.push(format!("r{n}"));
                    let _ = writeln!(given, "        show_record_{seed}(&r{n});");
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
            Returned::Record => writeln!(result, "        show_record_{seed}(&got);"),
            Returned::Records(1) => writeln!(result, "        got.iter().for_each(show_record_{seed});"),
            Returned::Records(_) => writeln!(result, "        got.iter().for_each(show_record_{seed});"),
        };
        if !matches!(function.result, Returned::Nothing) {
            names.insert(0, "got".to_owned());
        }
        let pattern = if names.len() == 1 { names[0].clone() } else { format!("({})", names.join(", ")) };
        let _ = writeln!(
            text,
            "    match df{seed}_{place}({}) {{\n        Err(error) => show_error(&error),\n        Ok({pattern}) => {{\n{result}{given}        }}\n    }}\n{buffers}}}",
            rust(&arguments.join(", "))
        );
    }
    text
}

fn host_python(headers: &[Header]) -> String {
    host(HOST_PYTHON, headers, part_python, ["RUNS", "run(SEED, [CALLS])\n"])
}

fn part_python(Header { seed, record, functions }: &Header) -> String {
    let show = |of: Number, value: &str| match of {
        of if of.is_float() => format!("show_float({value})"),
        _ => format!("show(int({value}))"),
    };
    let mut text = format!("\n\ndef show_record_{seed}(r):\n    show(\"{{\")\n");
    for (place, (of, count)) in record.0.iter().enumerate() {
        if *count > 1 {
            let _ = writeln!(text, "    for value in r.f{place}:\n        {}", show(*of, "value"));
        } else {
            let _ = writeln!(text, "    {}", show(*of, &format!("r.f{place}")));
        }
    }
    text += "    show(\"}\")\n\n\n";
    for (place, function) in functions.iter().enumerate() {
        let _ = writeln!(text, "def call_{seed}_{place}(n):");
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
                    let _ = writeln!(text, "    r{n} = df.df{seed}_record()");
                    arguments.push(format!("r{n}"));
                    let _ = writeln!(buffers, "    show_record_{seed}(r{n})");
                }
                Parameter::Record { .. } => {
                    names.push(format!("r{n}"));
                    let _ = writeln!(given, "        show_record_{seed}(r{n})");
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
            Returned::Record => writeln!(result, "        show_record_{seed}(got)"),
            Returned::Records(_) => {
                writeln!(result, "        for value in got or []:\n            show_record_{seed}(value)")
            }
        };
        if !matches!(function.result, Returned::Nothing) {
            names.insert(0, "got".to_owned());
        }
        let pattern = if names.is_empty() { "_".to_owned() } else { names.join(", ") };
        let _ = writeln!(
            text,
            "    try:\n        {pattern} = df.df{seed}_{place}({})\n{result}{given}    except df.Error as error:\n        show_error(error)\n{buffers}\n",
            arguments.join(", ")
        );
    }
    text
}

/// What the four say of headers that share a client, call by call.
///
/// # Errors
/// What went wrong before all was said, and in which call.
fn differ(seeds: &[u64], answers: u64) -> Result<[Vec<String>; 4], String> {
    let headers: Vec<Header> = seeds.iter().copied().map(Header::new).collect();
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str| {
        std::fs::create_dir_all(path(name).parent().expect("a folder")).expect("a folder");
        std::fs::write(path(name), text).expect("a file");
    };
    write("df.h", &header(&headers));
    write("library.c", &library(&headers));
    write("host.c", &host_c(&headers));
    write("host.cpp", &host_cpp(&headers));
    write("program/src/main.rs", &host_rust(&headers));
    write("host.py", &host_python(&headers));
    write(
        "program/Cargo.toml",
        "[package]\nname = \"program\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         df-protected = { path = \"../bindings\" }\n\n[profile.dev]\ndebug = false\n",
    );
    if let Some(keep) = std::env::var_os("LOCKGATE_DIFFER_KEEP") {
        let kept = Path::new(&keep).join(seeds[0].to_string());
        done(Command::new("cp").arg("-r").arg(folder.path()).arg(kept)).expect("a copy");
    }
    let done = |command: &mut Command| done(command).map_err(|error| format!("{error:?}"));
    let include = format!("-I{}", corpus().root().join("crates/lockgate-headers/include").display());
    let mut stubs = Command::new(LOCKGATE);
    stubs.arg("stubs").arg(path("df.h")).arg(&include).arg("-m").arg(path("df.lg"));
    done(stubs.args(["-l", "cpp", "-l", "rust", "-l", "python", "-o"]).arg(path("bindings")))?;
    let mut link = Command::new(LOCKGATE);
    link.args(["cc", "-g", "-O1", "-w", &include]).arg(path("library.c")).arg("-o").arg(path("df.lg"));
    done(link.arg("--exports").arg(path("bindings/client/df.exports")))?;
    let client = path("bindings/client/df_client.c");
    let library = prefix().join("lib");
    let compile = |compiler: &str, options: &[&str], output: &str| {
        let mut compile = Command::new(compiler);
        compile
            .args(["-g1", "-O0", "-w"])
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
        done(compile.args(["-lpthread", "-lm"]))
    };
    const SANITIZED: [&str; 2] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let object = path("client.o");
    done(compile("gcc", &SANITIZED, "client.o").arg("-c").arg(&client))?;
    linked(compile("gcc", &SANITIZED, "host").arg(&object).arg(path("host.c")))?;
    let mut cpp = compile("g++", &SANITIZED, "host-cpp");
    linked(cpp.arg("-I").arg(path("bindings")).arg(&object).arg(path("host.cpp")))?;
    let catching = path("bindings/client/df_catching.c");
    linked(compile("gcc", &["-shared", "-fPIC"], "bindings/libdf_client.so").arg(&client).arg(catching))?;
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--offline", "--quiet"])
        .current_dir(path("program"))
        .env("CARGO_TARGET_DIR", path("target"))
        .env("CARGO_INCREMENTAL", "0");
    cargo.env_remove("CARGO_ENCODED_RUSTFLAGS").env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
    done(&mut cargo)?;
    let said = |command: &mut Command| {
        command
            .arg(answers.to_string())
            .current_dir(folder.path())
            .env("ASAN_OPTIONS", "detect_leaks=0:quarantine_size_mb=16");
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            // (A program that dies has said all calls but that one.)
            let last = text.rsplit('\n').find(|line| line.ends_with(" .")).map(short);
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{command:?}: {} after {last:?}\n{why}", output.status));
        }
        Ok(text.lines().map(str::to_owned).collect::<Vec<_>>())
    };
    let mut python = Command::new("python3");
    python.arg(path("host.py")).env("PYTHONPATH", path("bindings")).env("PYTHONDONTWRITEBYTECODE", "1");
    let all = [
        said(&mut Command::new(path("host")))?,
        said(&mut Command::new(path("host-cpp")))?,
        said(&mut Command::new(path("target/debug/program")))?,
        said(python.env("LD_LIBRARY_PATH", &library))?,
    ];
    let each = seeds.len() * FUNCTIONS * usize::try_from(answers).expect("a number");
    let lengths = all.each_ref().map(Vec::len);
    if lengths == [each; 4] { Ok(all) } else { Err(format!("{lengths:?} calls, not {each}")) }
}

/// As much of a line as one reads.
fn short(line: &str) -> String {
    line.chars().take(600).collect()
}

/// The same value, or (where the number is none of an enumeration) a refusal.
fn agree(c: &str, other: &str) -> bool {
    c == other || !c.contains(" E ") && other.contains(" E Value ")
}

/// What was found, and how often C was told which kind of error, or a value.
#[derive(Default)]
struct Found {
    wrong: String,
    kinds: BTreeMap<String, u64>,
}

impl Found {
    fn compare(&mut self, seeds: &[u64], answers: u64) {
        let [c, others @ ..] = match differ(seeds, answers) {
            Ok(all) => all,
            // Which of them it is, is seen alone.
            Err(_) if seeds.len() > 1 && seeds.iter().any(|seed| differ(&[*seed], answers).is_err()) => {
                return seeds.iter().for_each(|seed| self.compare(&[*seed], answers));
            }
            Err(error) => {
                let _ = writeln!(self.wrong, "seeds {seeds:?}: {error}");
                return;
            }
        };
        let mut found: BTreeMap<&str, u32> = BTreeMap::new();
        for (call, c) in c.iter().enumerate() {
            let others = others.each_ref().map(|said| said[call].as_str());
            let kind =
                c.split_once(" E ").map_or("value", |(_, kind)| kind.split(' ').next().unwrap_or_default());
            *self.kinds.entry(kind.to_owned()).or_default() += 1;
            let seed = c.split(' ').next().unwrap_or_default();
            if others.iter().all(|other| agree(c, other)) {
                continue;
            }
            let found = found.entry(seed).or_default();
            *found += 1;
            if *found <= 5 {
                let (c, [cpp, rust, python]) = (short(c), others.map(short));
                let _ = writeln!(
                    self.wrong,
                    "seed {seed} (then function and answer):\n  C:      {c}\n  C++:    {cpp}\n  Rust:   {rust}\n  Python: {python}"
                );
            }
        }
    }
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
    let seeds: Vec<u64> = part.among(first..first + headers).collect();
    let found = Mutex::new(Found::default());
    let next = Mutex::new(seeds.chunks(TOGETHER));
    let take = || next.lock().expect("no panic").next();
    let workers = if headers > 10 { available_parallelism().map_or(1, usize::from) } else { 1 };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(seeds) = take() {
                    let mut one = Found::default();
                    one.compare(seeds, answers);
                    if headers > 10 {
                        eprintln!("seeds {seeds:?}: {:?}\n{}", one.kinds, one.wrong);
                    }
                    let mut found = found.lock().expect("no panic");
                    found.wrong += &one.wrong;
                    for (kind, count) in one.kinds {
                        *found.kinds.entry(kind).or_default() += count;
                    }
                }
            });
        }
    });
    let Found { wrong, kinds } = found.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{wrong}");
    let values = kinds.get("value").copied().unwrap_or_default();
    let all: u64 = kinds.values().sum();
    assert_eq!(all, seeds.len() as u64 * answers * FUNCTIONS as u64);
    assert!(values * 4 > all && values < all, "{kinds:?}");
}

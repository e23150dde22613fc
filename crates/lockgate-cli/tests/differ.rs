//! Random headers, a library that answers them at random, and four clients of it: what one language is told, the others are told, or refuse.
//! Those in C and C++ run under AddressSanitizer and UBSan.
//!
//! One of two headers here; `make stubs-differ HEADERS=2000 ANSWERS=500` for more. LOCKGATE_DIFFER_SEED picks the first; what is found names its own.

use crate::installed::{BY_CALLS, corpus, prefix};
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
    /// A handle: the program's, one that the library sets, one that it replaces.
    Box,
    BoxOut,
    BoxBoth,
    /// A function of the program's, and its data.
    Tell,
    /// A structure with text in it, which goes in or comes out.
    Named {
        reads: bool,
    },
    /// A place in the array or text of this parameter; or none.
    WithinOut {
        object: usize,
        nullable: bool,
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
    Box,
    /// Structures with text in them.
    Named(u64),
    /// A place in the array or text of this parameter.
    Within(usize),
    /// Structures up to one with zero in its first field.
    Until,
}

/// What a function of the program's is told.
enum Told {
    Number(Number),
    /// (True: or none.)
    Text(bool),
    Array(Number, u64),
    /// As many as the number behind it says.
    Counted(Number),
    Box,
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

/// The library only reads it: what it gives back may lie there.
fn has_places(parameter: &Parameter) -> bool {
    matches!(parameter, Parameter::Text | Parameter::Array { reads: true, writes: false, .. })
}

fn told(random: &mut Rng) -> Told {
    match random.u64(..5) {
        0 => Told::Text(random.u64(..2) == 0),
        1 => Told::Array(number(random), 1 + random.u64(..4)),
        2 => Told::Counted(number(random)),
        3 => Told::Box,
        _ => Told::Number(number(random)),
    }
}

fn function(random: &mut Rng) -> Function {
    let mut parameters = Vec::new();
    for _ in 0..random.u64(..5) {
        let count = 1 + random.u64(..9);
        let within = random.u64(..2) == 0;
        let object = parameters.iter().position(|parameter| has_places(parameter) && within);
        parameters.push(match random.u64(..17) {
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
            9 => Parameter::Record { reads: random.u64(..2) == 0, writes: true },
            10 => Parameter::Box,
            11 => Parameter::BoxOut,
            12 => Parameter::BoxBoth,
            13 => Parameter::Named { reads: true },
            14 => Parameter::Named { reads: false },
            15 => match object {
                Some(object) => Parameter::WithinOut { object, nullable: random.u64(..2) == 0 },
                None => Parameter::Text,
            },
            // (Which of two functions data belong to is another question.)
            _ if parameters.iter().any(|other| matches!(other, Parameter::Tell)) => Parameter::Box,
            _ => Parameter::Tell,
        });
    }
    let object = parameters.iter().position(has_places);
    let mut result = match random.u64(..12) {
        0 => Returned::Nothing,
        1 => Returned::Text(random.u64(..3) == 0),
        2 => Returned::Array(number(random), Some(random.u64(..9)), random.u64(..3) == 0),
        3 => Returned::Array(number(random), None, false),
        4 => Returned::Record,
        5 => Returned::Records(1 + random.u64(..4)),
        6 => Returned::Number(ENUM),
        7 => Returned::Box,
        8 => Returned::Named(1 + random.u64(..4)),
        9 => Returned::Until,
        10 => object.map_or(Returned::Nothing, Returned::Within),
        _ => Returned::Number(number(random)),
    };
    // A number that is none of an enumeration's fails the call in the other languages alone; C's program has the handle that it was to replace.
    if parameters.iter().any(|parameter| matches!(parameter, Parameter::BoxBoth)) {
        for parameter in &mut parameters {
            if let Parameter::Scalar { of, .. } = parameter
                && *of == ENUM
            {
                *of = NUMBERS[4];
            }
        }
        if matches!(result, Returned::Number(of) if of == ENUM) {
            result = Returned::Number(NUMBERS[4]);
        }
    }
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
    /// Structures that end with a zero in the first field.
    item: Record,
    /// The numbers of a structure, behind which two texts stand.
    named: Record,
    /// What functions of the program's are told.
    told: Vec<Told>,
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
        // (A number of any size, but for those that are 0 or 1.)
        let key = NUMBERS[random.u64(..8) as usize];
        let item =
            Record(std::iter::once((key, 1)).chain((0..random.u64(..3)).map(|_| field(random))).collect());
        let named = Record((0..1 + random.u64(..3)).map(|_| (number(random), 1)).collect());
        let told = (0..1 + random.u64(..3)).map(|_| told(random)).collect();
        let functions = (0..FUNCTIONS).map(|_| function(random)).collect();
        Header { seed, record, item, named, told, functions }
    }
}

fn header(headers: &[Header]) -> String {
    let mut text = String::from(
        "#pragma once\n#include <lockgate/annotations.h>\n#include <stdbool.h>\n#include <stdint.h>\nLG_DOMAIN(\"df\", memory=32M, time=5000, restart);\n\
         enum df_choice { DF_NONE, DF_FIVE = 5, DF_LESS = -3 };\nvoid df_seed(uint64_t seed);\n",
    );
    // What a call that fails returns. (One of those ends handles.)
    let mut fails: BTreeSet<String> = headers
        .iter()
        .flat_map(|header| &header.functions)
        .filter_map(|function| match &function.result {
            Returned::Number(of) if of.c == ENUM.c => Some(format!("LG_ERRORS({}, DF_NONE);\n", of.c)),
            Returned::Number(of) if of.c.starts_with("int") => Some(format!("LG_ERRORS({}, -1);\n", of.c)),
            Returned::Number(of) if of.c.starts_with("uint") => Some(format!("LG_ERRORS({}, 0);\n", of.c)),
            _ => None,
        })
        .collect();
    fails.insert("LG_ERRORS(int32_t, -1);\n".to_owned());
    text.extend(fails);
    for Header { seed, record, item, named, told, functions } in headers {
        for (name, Record(fields)) in [("record", record), ("item", item), ("named", named)] {
            text += "typedef struct {\n";
            for (place, (of, count)) in fields.iter().enumerate() {
                let array = if *count > 1 { format!("[{count}]") } else { String::new() };
                let _ = writeln!(text, "    {} f{place}{array};", of.c);
            }
            let _ = match name {
                "named" => writeln!(
                    text,
                    "    const char *first, *second;\n}} df{seed}_named;\n\
                     LG_FIELD(df{seed}_named, first, LG_STRING LG_NULLABLE);\nLG_FIELD(df{seed}_named, second, LG_STRING);"
                ),
                name => writeln!(text, "}} df{seed}_{name};"),
            };
        }
        let _ = writeln!(
            text,
            "typedef struct df{seed}_box df{seed}_box;\ndf{seed}_box *df{seed}_open(void);\n\
             int32_t df{seed}_close(df{seed}_box *box LG_RELEASE);\ntypedef int32_t (*df{seed}_tell)({});",
            told_in_c(*seed, told, true)
        );
        if functions.iter().any(|function| matches!(function.result, Returned::Record)) {
            let _ = writeln!(text, "LG_ERRORS(df{seed}_record, {{0}});");
        }
        for (place, function) in functions.iter().enumerate() {
            let _ = writeln!(text, "{};", declared(*seed, place, function, true));
        }
    }
    text
}

/// Each function, with its header and its place there.
fn all_of(headers: &[Header]) -> impl Iterator<Item = (&Header, usize, &Function)> {
    headers.iter().flat_map(|header| {
        header.functions.iter().enumerate().map(move |(place, function)| (header, place, function))
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
            Parameter::Box => format!("df{seed}_box *p{n}"),
            Parameter::BoxOut => format!("df{seed}_box **p{n}{}", note("LG_OUT".into())),
            Parameter::BoxBoth => format!("df{seed}_box **p{n}{}", note("LG_INOUT".into())),
            Parameter::Tell => format!("df{seed}_tell p{n}, void *d{n}{}", note("LG_DATA".into())),
            Parameter::Named { reads: true } => format!("const df{seed}_named *p{n}{}", note("LG_IN".into())),
            Parameter::Named { reads: false } => format!("df{seed}_named *p{n}{}", note("LG_OUT".into())),
            Parameter::WithinOut { object, nullable } => {
                let more = if *nullable { " LG_NULLABLE" } else { "" };
                let said = note(format!("LG_OUT LG_WITHIN(p{object}){more}"));
                format!("const {} **p{n}{said}", element_of(&function.parameters[*object]))
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
        Returned::Box => (format!("df{seed}_box *"), String::new()),
        Returned::Named(count) => (format!("const df{seed}_named *"), format!("LG_IN LG_SIZE({count})")),
        Returned::Within(object) => (
            format!("const {} *", element_of(&function.parameters[*object])),
            format!("LG_WITHIN(p{object})"),
        ),
        Returned::Until => (format!("const df{seed}_item *"), "LG_UNTIL(f0)".to_owned()),
    };
    format!(
        "{result}df{seed}_{place}({parameters}){}",
        if said.is_empty() { String::new() } else { note(said) }
    )
}

/// What a pointer leads to in which there are places.
fn element_of(parameter: &Parameter) -> &'static str {
    match parameter {
        Parameter::Array { of, .. } => of.c,
        _ => "char",
    }
}

/// The parameters of a function of the program's.
fn told_in_c(seed: u64, told: &[Told], annotated: bool) -> String {
    let note = |text: &str| if annotated { format!(" {text}") } else { String::new() };
    let mut text = "void *user".to_owned();
    for (n, one) in told.iter().enumerate() {
        let _ = match one {
            Told::Number(of) => write!(text, ", {} a{n}", of.c),
            Told::Text(false) => write!(text, ", const char *a{n}{}", note("LG_STRING")),
            Told::Text(true) => write!(text, ", const char *a{n}{}", note("LG_STRING LG_NULLABLE")),
            Told::Array(of, count) => {
                write!(text, ", const {} *a{n}{}", of.c, note(&format!("LG_IN LG_SIZE({count})")))
            }
            Told::Counted(of) => {
                write!(text, ", const {} *a{n}{}, uint32_t c{n}", of.c, note(&format!("LG_IN LG_SIZE(c{n})")))
            }
            Told::Box => write!(text, ", df{seed}_box *a{n}{}", note("LG_NULLABLE")),
        };
    }
    text
}

/// The library's side of that: statements, and arguments.
fn tells(told: &[Told]) -> (String, String) {
    let (mut before, mut arguments) = (String::new(), String::new());
    for (n, one) in told.iter().enumerate() {
        let _ = match one {
            Told::Number(of) => {
                let _ = writeln!(
                    before,
                    "        union {{ unsigned char bytes[16]; {} value; }} a{n};\n        scribble(&a{n}, sizeof a{n}.value);",
                    of.c
                );
                write!(arguments, ", a{n}.value")
            }
            Told::Text(_) => write!(arguments, ", (void *)a_place(1)"),
            Told::Array(of, _) => write!(arguments, ", (void *)a_place(sizeof({}))", of.c),
            Told::Counted(of) => write!(arguments, ", (void *)a_place(sizeof({})), a_count(8)", of.c),
            Told::Box => write!(arguments, ", (void *)a_place(64)"),
        };
    }
    (before, arguments)
}

fn library(headers: &[Header]) -> String {
    let mut text = format!("#include \"df.h\"\n{LIBRARY}\n");
    for Header { seed, .. } in headers {
        let _ = writeln!(
            text,
            "df{seed}_box *df{seed}_open(void) {{ return (void *)a_place(64); }}\n\
             int32_t df{seed}_close(df{seed}_box *box) {{ see(box, 8); return an_end(box); }}"
        );
    }
    for (header, place, function) in all_of(headers) {
        let seed = header.seed;
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
                Parameter::Box => writeln!(text, "    see(p{n}, 8);"),
                Parameter::BoxOut | Parameter::BoxBoth => {
                    writeln!(text, "    if (p{n} && any(4)) *p{n} = (void *)a_place(64);")
                }
                Parameter::Tell => {
                    let (before, arguments) = tells(&header.told);
                    writeln!(
                        text,
                        "    for (uint64_t rounds = any(3); p{n} && rounds; rounds--) {{\n{before}\
                         \x20       state += (uint32_t)p{n}(any(16) ? d{n} : (void *)any(64){arguments});\n    }}"
                    )
                }
                Parameter::Named { reads: true } => writeln!(
                    text,
                    "    see(p{n}, sizeof *p{n});\n    see(p{n}->first, p{n}->first ? strlen(p{n}->first) : 0);\n\
                     \x20   see(p{n}->second, p{n}->second ? strlen(p{n}->second) : 0);"
                ),
                Parameter::Named { reads: false } => writeln!(text, "    NAME(p{n});"),
                Parameter::WithinOut { object, .. } => {
                    let (all, each) = extent(&function.parameters[*object], *object);
                    writeln!(
                        text,
                        "    if (p{n} && any(8)) *p{n} = (void *)a_place_in(p{object}, {all}, {each});"
                    )
                }
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
            Returned::Box => writeln!(text, "    return (void *)a_place(64);"),
            Returned::Named(count) => writeln!(
                text,
                "    static df{seed}_named answer[{count}];\n    for (int i = 0; i < {count}; i++)\n        NAME(&answer[i]);\n\
                 \x20   return any(12) ? answer : (void *)a_place(8);"
            ),
            Returned::Within(object) => {
                let (all, each) = extent(&function.parameters[*object], *object);
                writeln!(text, "    return (void *)a_place_in(p{object}, {all}, {each});")
            }
            Returned::Until => writeln!(
                text,
                "    df{seed}_item *answer = (void *)(memory + 64 * any(64));\n    scribble(answer, 9 * sizeof *answer);\n    if (any(8))\n        answer[any(9)].f0 = 0;\n\
                 \x20   return any(12) ? answer : (void *)a_place(8);"
            ),
        };
        text += "}\n";
    }
    text
}

/// Bytes of what parameter `n` leads to, and of each of its elements.
fn extent(parameter: &Parameter, n: usize) -> (String, String) {
    match parameter {
        Parameter::Array { count, .. } => (format!("{count} * sizeof *p{n}"), format!("sizeof *p{n}")),
        _ => (format!("strlen(p{n}) + 1"), "1".to_owned()),
    }
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

fn part_c(Header { seed, record, item, named, told, functions }: &Header) -> String {
    let show = |of: Number, value: &str| match of {
        of if of.is_float() => format!("show_float({value});"),
        of if of == BOOL => format!("show_bool(&{value});"),
        of if of.c == "uint64_t" => format!("show_unsigned({value});"),
        _ => format!("show_signed({value});"),
    };
    let mut text = String::new();
    for (name, Record(fields)) in [("record", record), ("item", item), ("named", named)] {
        let _ =
            writeln!(text, "static void show_{name}_{seed}(const df{seed}_{name} *r)\n{{\n    show(\"{{\");");
        for (place, (of, count)) in fields.iter().enumerate() {
            let _ = match count {
                1 => writeln!(text, "    {}", show(*of, &format!("r->f{place}"))),
                _ => writeln!(
                    text,
                    "    for (int i = 0; i < {count}; i++) {{ {} }}",
                    show(*of, &format!("r->f{place}[i]"))
                ),
            };
        }
        if name == "named" {
            text += "    show_text(r->first);\n    show_text(r->second);\n";
        }
        text += "    show(\"}\");\n}\n";
    }
    let _ = writeln!(
        text,
        "static df{seed}_box *open_{seed}(void)\n{{\n    df{seed}_box *box = df{seed}_open();\n    if (!failed()) show_box(box);\n    return box;\n}}\n\
         static void close_{seed}(df{seed}_box *box)\n{{\n    if (!box) return;\n    int32_t result = df{seed}_close(box);\n    if (!failed()) show_signed(result);\n}}\n\
         static int32_t told_{seed}({})\n{{\n    mine(user);\n    show(\"(\");",
        told_in_c(*seed, told, false)
    );
    for (n, one) in told.iter().enumerate() {
        let all = |of: Number, count: &str| {
            format!("for (uint32_t i = 0; i < {count}; i++) {{ {} }}", show(of, &format!("a{n}[i]")))
        };
        let _ = match one {
            Told::Number(of) => writeln!(text, "    {}", show(*of, &format!("a{n}"))),
            Told::Text(_) => writeln!(text, "    show_text(a{n});"),
            Told::Array(of, count) => writeln!(text, "    {}", all(*of, &count.to_string())),
            Told::Counted(of) => writeln!(text, "    {}\n    show_signed(c{n});", all(*of, &format!("c{n}"))),
            Told::Box => writeln!(text, "    show_box(a{n});"),
        };
    }
    text += "    show(\")\");\n    return answer();\n}\n";
    for (place, function) in functions.iter().enumerate() {
        let _ = writeln!(text, "static void call_{seed}_{place}(int n)\n{{\n    turn = n;");
        let (mut arguments, mut given, mut buffers) = (Vec::new(), String::new(), String::new());
        // Handles are ended in the end, in one order.
        let mut ends = String::new();
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
                Parameter::Box => {
                    let _ = writeln!(text, "    df{seed}_box *h{n} = open_{seed}();");
                    arguments.push(format!("h{n}"));
                    let _ = writeln!(ends, "    close_{seed}(h{n});");
                }
                Parameter::BoxOut => {
                    let _ = writeln!(text, "    df{seed}_box *h{n} = 0;");
                    arguments.push(format!("&h{n}"));
                    let _ = writeln!(given, "    show_box(h{n});");
                    let _ = writeln!(ends, "    close_{seed}(h{n});");
                }
                Parameter::BoxBoth => {
                    let _ = writeln!(text, "    df{seed}_box *h{n} = open_{seed}();");
                    arguments.push(format!("&h{n}"));
                    let _ = writeln!(given, "    show_box(h{n});");
                    // (One that a call was to replace which failed nobody has in the other languages.)
                    let _ = writeln!(ends, "    if (!was_refused) close_{seed}(h{n});");
                }
                Parameter::Tell => arguments.push(format!("told_{seed}, my_own(n)")),
                Parameter::Named { reads } => {
                    let _ = writeln!(
                        text,
                        "    df{seed}_named *r{n} = room(sizeof(df{seed}_named));\n    memset(r{n}, 0, sizeof *r{n});"
                    );
                    if *reads {
                        let _ =
                            writeln!(text, "    r{n}->first = a_text(n);\n    r{n}->second = a_text(n + 1);");
                    } else {
                        let _ = writeln!(given, "    show_named_{seed}(r{n});");
                    }
                    arguments.push(format!("r{n}"));
                }
                Parameter::WithinOut { object, .. } => {
                    let of = &function.parameters[*object];
                    let _ = writeln!(text, "    const {} *w{n} = 0;", element_of(of));
                    arguments.push(format!("&w{n}"));
                    let _ = writeln!(given, "    show_place(w{n}, {});", place_in(of, *object));
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
            Returned::Box => {
                result += "    show_box(lg_got);\n";
                let _ = writeln!(ends, "    close_{seed}(lg_got);");
                writeln!(text, "    df{seed}_box *lg_got = {call};")
            }
            Returned::Named(count) => {
                let _ = writeln!(
                    result,
                    "    for (int i = 0; lg_got && i < {count}; i++) show_named_{seed}(&lg_got[i]);"
                );
                writeln!(text, "    const df{seed}_named *lg_got = {call};")
            }
            Returned::Within(object) => {
                let of = &function.parameters[*object];
                let _ = writeln!(result, "    show_place(lg_got, {});", place_in(of, *object));
                writeln!(text, "    const void *lg_got = {call};")
            }
            Returned::Until => {
                let _ = writeln!(
                    result,
                    "    for (int i = 0; lg_got; i++) {{ show_item_{seed}(&lg_got[i]); if (!lg_got[i].f0) break; }}"
                );
                writeln!(text, "    const df{seed}_item *lg_got = {call};")
            }
        };
        let _ = writeln!(
            text,
            "    int was_refused = failed();\n    (void)was_refused;\n    if (!was_refused) {{\n{result}{given}    }}\n{buffers}{ends}    give_back();\n}}"
        );
    }
    text
}

/// Where that begins in which there are places.
fn place_in(parameter: &Parameter, n: usize) -> String {
    match parameter {
        Parameter::Array { .. } => format!("b{n}"),
        _ => "a_text(n)".to_owned(),
    }
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

fn part_cpp(Header { seed, record, item, named, told, functions }: &Header) -> String {
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
    let mut text = String::new();
    for (name, Record(fields)) in [("record", record), ("item", item), ("named", named)] {
        let space = if name == "named" { "df::" } else { "" };
        let _ =
            writeln!(text, "static void show_record(const {space}df{seed}_{name} &r)\n{{\n    show(\"{{\");");
        for (place, (of, count)) in fields.iter().enumerate() {
            let _ = match count {
                1 => writeln!(text, "    {}", show(*of, &format!("r.f{place}"))),
                _ => writeln!(text, "    for (const auto &value : r.f{place}) {{ {} }}", show(*of, "value")),
            };
        }
        if name == "named" {
            text += "    show_text(r.first);\n    show_text(r.second);\n";
        }
        text += "    show(\"}\");\n}\n";
    }
    let closing = told.iter().enumerate().map(|(n, one)| match one {
        Told::Counted(_) => format!("const auto &a{n}, auto c{n}"),
        _ => format!("const auto &a{n}"),
    });
    let closing = closing.collect::<Vec<_>>().join(", ");
    let mut shown = String::new();
    for (n, one) in told.iter().enumerate() {
        let all = |of: Number| format!("for (const auto &value : a{n}) {{ {} }}", show(of, "value"));
        let _ = match one {
            Told::Number(of) => writeln!(shown, "            {}", show(*of, &format!("a{n}"))),
            Told::Text(_) => writeln!(shown, "            show_text(a{n});"),
            Told::Array(of, _) => writeln!(shown, "            {}", all(*of)),
            Told::Counted(of) => writeln!(shown, "            {}\n            show_number(c{n});", all(*of)),
            Told::Box => writeln!(shown, "            show_box(a{n});"),
        };
    }
    for (place, function) in functions.iter().enumerate() {
        let _ = writeln!(text, "static void call_{seed}_{place}([[maybe_unused]] int n)\n{{");
        // What comes back, in order: its name, and what shows it.
        let mut back: Vec<(String, String)> = Vec::new();
        let (mut arguments, mut buffers) = (Vec::new(), String::new());
        // (Handles are ended in the end, in one order.)
        let mut ends = String::new();
        let opened = |n: usize| format!("    auto h{n} = open(df::df{seed}_open);\n");
        let close = |name: &str| format!("    close({name}, df::df{seed}_close);\n");
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
                Parameter::Record { .. } | Parameter::Named { reads: false } => {
                    back.push((format!("p{n}"), format!("show_record(p{n});")));
                }
                Parameter::Box => {
                    text += &opened(n);
                    arguments.push(format!("h{n}"));
                    ends += &close(&format!("h{n}"));
                }
                Parameter::BoxOut | Parameter::BoxBoth => {
                    if matches!(parameter, Parameter::BoxBoth) {
                        text += &opened(n);
                        arguments.push(format!("std::move(h{n})"));
                    }
                    let _ = writeln!(text, "    std::optional<df::df{seed}_box> k{n};");
                    back.push((format!("p{n}"), format!("show_box(p{n}); k{n} = std::move(p{n});")));
                    ends += &close(&format!("k{n}"));
                }
                Parameter::Tell => {
                    let _ = writeln!(
                        text,
                        "    df::df{seed}_tell t{n}([n, times = 0]({closing}) mutable {{\n            show(\"(\");\n{shown}            show(\")\");\n            return n * 3 + times++;\n    }});"
                    );
                    arguments.push(format!("t{n}"));
                }
                Parameter::Named { reads: true } => {
                    let _ = writeln!(
                        text,
                        "    df::df{seed}_named r{n}{{}};\n    r{n}.first = a_text(n);\n    r{n}.second = a_text(n + 1);"
                    );
                    arguments.push(format!("r{n}"));
                }
                Parameter::WithinOut { .. } => back.push((format!("p{n}"), format!("show_place(p{n});"))),
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
            Returned::Records(_) | Returned::Named(_) | Returned::Until => {
                Some("show_records(result, [](const auto &r) { show_record(r); });".to_owned())
            }
            Returned::Box => {
                let _ = writeln!(text, "    std::optional<df::df{seed}_box> kept;");
                ends += &close("kept");
                Some("show_box(result); kept = std::move(result);".to_owned())
            }
            Returned::Within(_) => Some("show_place(result);".to_owned()),
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
            "    try {{\n        {taken}df::df{seed}_{place}({});\n{shown}    }} catch (const df::error &error) {{\n        show_error(error);\n    }}\n{buffers}{ends}}}",
            arguments.join(", ")
        );
    }
    text
}

fn host_rust(headers: &[Header]) -> String {
    host(HOST_RUST, headers, part_rust, ["fn main() {\nRUNS}\n", "    run(SEED, &[CALLS]);\n"])
}

fn part_rust(Header { seed, record, item, named, told, functions }: &Header) -> String {
    let show = |of: Number, value: &str| match of {
        of if of.is_float() => format!("show_float(f64::from({value}));"),
        of if of == ENUM => format!("show_number({value} as i64);"),
        of if of == BOOL => format!("show_number(i32::from({value}));"),
        _ => format!("show_number({value});"),
    };
    let mut text = String::new();
    for (name, kind, Record(fields)) in
        [("record", "Record", record), ("item", "Item", item), ("named", "Named", named)]
    {
        let _ = writeln!(text, "fn show_{name}_{seed}(r: &Df{seed}{kind}) {{\n    show(\"{{\");");
        for (place, (of, count)) in fields.iter().enumerate() {
            let of = if *of == ENUM { NUMBERS[4] } else { *of };
            let _ = match count {
                1 => writeln!(text, "    {}", show(of, &format!("r.f{place}"))),
                _ => writeln!(text, "    for value in r.f{place} {{ {} }}", show(of, "value")),
            };
        }
        if name == "named" {
            text += "    show_string(r.first.as_deref());\n    show_string(r.second.as_deref());\n";
        }
        text += "    show(\"}\");\n}\n";
    }
    let closing = told.iter().enumerate().map(|(n, one)| match one {
        Told::Counted(_) => format!("a{n}, c{n}"),
        _ => format!("a{n}"),
    });
    let closing = closing.collect::<Vec<_>>().join(", ");
    let mut shown = String::new();
    for (n, one) in told.iter().enumerate() {
        let all = |of: Number| format!("for value in a{n}.iter().copied() {{ {} }}", show(of, "value"));
        let _ = match one {
            Told::Number(of) => writeln!(shown, "        {}", show(*of, &format!("a{n}"))),
            Told::Text(false) => writeln!(shown, "        show_string(Some(a{n}));"),
            Told::Text(true) => writeln!(shown, "        show_string(a{n});"),
            Told::Array(of, _) => writeln!(shown, "        {}", all(*of)),
            Told::Counted(of) => writeln!(shown, "        {}\n        show_number(c{n});", all(*of)),
            Told::Box => writeln!(shown, "        show_box(a{n}.is_some());"),
        };
    }
    let rust = |text: &str| text.replace("LL", "");
    for (place, function) in functions.iter().enumerate() {
        let _ = writeln!(text, "fn call_{seed}_{place}(n: i32) {{\n    let _ = n;");
        let (mut arguments, mut names, mut given, mut buffers) =
            (Vec::new(), Vec::new(), String::new(), String::new());
        // (Handles are ended in the end, in one order.)
        let mut ends = String::new();
        let opened = |n: usize| format!("    let h{n} = open(df{seed}_open());\n");
        let close = |name: &str| format!("    close({name}.map(df{seed}_close));\n");
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
                Parameter::Box => {
                    text += &opened(n);
                    arguments.push(format!("h{n}.as_ref()"));
                    ends += &close(&format!("h{n}"));
                }
                Parameter::BoxOut | Parameter::BoxBoth => {
                    if matches!(parameter, Parameter::BoxBoth) {
                        text += &opened(n);
                        arguments.push(format!("h{n}"));
                    }
                    let _ = writeln!(text, "    let mut k{n} = None;");
                    names.push(format!("p{n}"));
                    let _ = writeln!(given, "        show_box(p{n}.is_some());\n        k{n} = p{n};");
                    ends += &close(&format!("k{n}"));
                }
                Parameter::Tell => {
                    let _ = writeln!(
                        text,
                        "    let times = std::sync::atomic::AtomicI32::new(0);\n    let t{n} = Df{seed}Tell::new(move |{closing}| {{\n        show(\"(\");\n{shown}        show(\")\");\n        n * 3 + times.fetch_add(1, std::sync::atomic::Ordering::Relaxed)\n    }}).unwrap();"
                    );
                    arguments.push(format!("&t{n}"));
                }
                Parameter::Named { reads: true } => {
                    let _ = writeln!(
                        text,
                        "    let r{n} = Df{seed}Named {{ first: Some(a_text(n)), second: Some(a_text(n + 1)), ..Default::default() }};"
                    );
                    arguments.push(format!("&r{n}"));
                }
                Parameter::Named { reads: false } => {
                    names.push(format!("r{n}"));
                    let _ = writeln!(given, "        show_named_{seed}(&r{n});");
                }
                Parameter::WithinOut { .. } => {
                    names.push(format!("w{n}"));
                    let _ = writeln!(given, "        show_place(w{n});");
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
            Returned::Box => {
                text += "    let mut kept = None;\n";
                ends += &close("kept");
                writeln!(result, "        show_box(got.is_some());\n        kept = got;")
            }
            Returned::Named(_) => writeln!(result, "        got.iter().for_each(show_named_{seed});"),
            Returned::Within(_) => writeln!(result, "        show_place(got);"),
            Returned::Until => writeln!(result, "        got.iter().for_each(show_item_{seed});"),
        };
        if !matches!(function.result, Returned::Nothing) {
            names.insert(0, "got".to_owned());
        }
        let pattern = if names.len() == 1 { names[0].clone() } else { format!("({})", names.join(", ")) };
        let _ = writeln!(
            text,
            "    match df{seed}_{place}({}) {{\n        Err(error) => show_error(&error),\n        Ok({pattern}) => {{\n{result}{given}        }}\n    }}\n{buffers}{ends}}}",
            rust(&arguments.join(", "))
        );
    }
    text
}

fn host_python(headers: &[Header]) -> String {
    host(HOST_PYTHON, headers, part_python, ["RUNS", "run(SEED, [CALLS])\n"])
}

fn part_python(Header { seed, record, item, named, told, functions }: &Header) -> String {
    let show = |of: Number, value: &str| match of {
        of if of.is_float() => format!("show_float({value})"),
        _ => format!("show(int({value}))"),
    };
    let mut text = String::new();
    for (name, Record(fields)) in [("record", record), ("item", item), ("named", named)] {
        let _ = writeln!(text, "\n\ndef show_{name}_{seed}(r):\n    show(\"{{\")");
        for (place, (of, count)) in fields.iter().enumerate() {
            let _ = match count {
                1 => writeln!(text, "    {}", show(*of, &format!("r.f{place}"))),
                _ => writeln!(text, "    for value in r.f{place}:\n        {}", show(*of, "value")),
            };
        }
        if name == "named" {
            text += "    show_text(r.first)\n    show_text(r.second)\n";
        }
        text += "    show(\"}\")\n";
    }
    let closing = told.iter().enumerate().map(|(n, one)| match one {
        Told::Counted(_) => format!("a{n}, c{n}"),
        _ => format!("a{n}"),
    });
    let closing = closing.collect::<Vec<_>>().join(", ");
    let mut shown = String::new();
    for (n, one) in told.iter().enumerate() {
        let all = |of: Number| format!("for value in a{n}:\n            {}", show(of, "value"));
        let _ = match one {
            Told::Number(of) => writeln!(shown, "        {}", show(*of, &format!("a{n}"))),
            Told::Text(_) => writeln!(shown, "        show_text(a{n})"),
            Told::Array(of, _) => writeln!(shown, "        {}", all(*of)),
            Told::Counted(of) => writeln!(shown, "        {}\n        show(c{n})", all(*of)),
            Told::Box => writeln!(shown, "        show_box(a{n})"),
        };
    }
    text += "\n\n";
    for (place, function) in functions.iter().enumerate() {
        let _ = writeln!(text, "def call_{seed}_{place}(n):");
        let (mut arguments, mut names, mut given, mut buffers) =
            (Vec::new(), Vec::new(), String::new(), String::new());
        // (Handles are ended in the end, in one order.)
        let mut ends = String::new();
        let opened = |n: usize| format!("    h{n} = opened(df.df{seed}_open)\n");
        let close = |name: &str| format!("    close({name}, df.df{seed}_close)\n");
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
                Parameter::Box => {
                    text += &opened(n);
                    arguments.push(format!("h{n}"));
                    ends += &close(&format!("h{n}"));
                }
                Parameter::BoxOut | Parameter::BoxBoth => {
                    if matches!(parameter, Parameter::BoxBoth) {
                        text += &opened(n);
                        arguments.push(format!("h{n}"));
                    }
                    let _ = writeln!(text, "    k{n} = None");
                    names.push(format!("k{n}"));
                    let _ = writeln!(given, "        show_box(k{n})");
                    ends += &close(&format!("k{n}"));
                }
                Parameter::Tell => {
                    let _ = writeln!(
                        text,
                        "    times = []\n\n    def t{n}({closing}):\n        show(\"(\")\n{shown}        show(\")\")\n        times.append(0)\n        return n * 3 + len(times) - 1\n"
                    );
                    arguments.push(format!("t{n}"));
                }
                Parameter::Named { reads: true } => {
                    let _ =
                        writeln!(text, "    r{n} = df.df{seed}_named(first=a_text(n), second=a_text(n + 1))");
                    arguments.push(format!("r{n}"));
                }
                Parameter::Named { reads: false } => {
                    names.push(format!("r{n}"));
                    let _ = writeln!(given, "        show_named_{seed}(r{n})");
                }
                Parameter::WithinOut { .. } => {
                    names.push(format!("w{n}"));
                    let _ = writeln!(given, "        show_place(w{n})");
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
            Returned::Box => {
                text += "    got = None\n";
                ends += &close("got");
                writeln!(result, "        show_box(got)")
            }
            Returned::Named(_) => {
                writeln!(result, "        for value in all_of(got):\n            show_named_{seed}(value)")
            }
            Returned::Within(_) => writeln!(result, "        show_place(got)"),
            Returned::Until => {
                writeln!(result, "        for value in got:\n            show_item_{seed}(value)")
            }
        };
        if !matches!(function.result, Returned::Nothing) {
            names.insert(0, "got".to_owned());
        }
        let pattern = if names.is_empty() { "_".to_owned() } else { names.join(", ") };
        let _ = writeln!(
            text,
            "    try:\n        {pattern} = df.df{seed}_{place}({})\n{result}{given}    except df.Error as error:\n        show_error(error)\n{buffers}{ends}\n",
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
    let [call, always] = BY_CALLS;
    let sanitized = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", call, always];
    let object = path("client.o");
    done(compile("gcc", &sanitized, "client.o").arg("-c").arg(&client))?;
    linked(compile("gcc", &sanitized, "host").arg(&object).arg(path("host.c")))?;
    let mut cpp = compile("g++", &sanitized, "host-cpp");
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

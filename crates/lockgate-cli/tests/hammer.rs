//! Every function of every header of share/stubs, called at random from several threads with a library behind it that answers at random, and changes
//! what it has answered: under AddressSanitizer and UBSan nothing is read or written but what C would let the program believe.
//!
//! A second for each header; `make stubs-hammer SECONDS=600` for longer.

use crate::installed::{BY_CALLS, corpus, prefix};
use lockgate_bench::command::done;
use lockgate_bench::stubs::library::LIBRARIES;
use lockgate_stubs::Client;
use lockgate_stubs::expression::Expression;
use lockgate_stubs::header::Source;
use lockgate_stubs::header::model::{CType, Parameter, Shape};
use lockgate_stubs::name::word;
use lockgate_stubs::plan::{CallbackPlan, Count, FunctionPlan, Outcome, Passing, Plan};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::Part;

const LOCKGATE: &str = env!("CARGO_BIN_EXE_lockgate");

/// What both sides build on: random numbers, the library's answers.
const HOSTILE: &str = include_str!("stubs/hammer_library.h");
const HOST: &str = include_str!("stubs/hammer_host.h");

/// Its variable in the environment: how long each header is called.
const SECONDS: &str = "LOCKGATE_HAMMER_SECONDS";

/// A header, and how it is read.
struct Header {
    path: PathBuf,
    /// As programs include it.
    include: &'static str,
    annotations: Vec<PathBuf>,
    flags: Vec<String>,
}

/// All but those that do not return: where they do not jump, they end the program.
fn can_be_called(function: &FunctionPlan) -> bool {
    !function.prototype.noreturn
}

/// It is passed, or returned, as it is.
fn is_by_value(kind: &CType) -> bool {
    matches!(kind.shape, Shape::Record(_))
}

/// C for an expression over parameters, if it speaks of nothing else.
fn simple(expression: &Expression, own: &str) -> Option<String> {
    fn plain(expression: &Expression, own: &str) -> bool {
        match expression {
            Expression::Number(_) => true,
            Expression::Name(name) => name != "lg_result",
            Expression::Deref(name) => name != own,
            Expression::StringLength(name) => name != own,
            Expression::Call(..) | Expression::Field(..) | Expression::Told(_) => false,
            Expression::Minus(x) | Expression::Not(x) => plain(x, own),
            Expression::Binary(_, x, y) => plain(x, own) && plain(y, own),
            Expression::Conditional(x, y, z) => plain(x, own) && plain(y, own) && plain(z, own),
        }
    }
    plain(expression, own).then(|| expression.to_string())
}

/// A library whose functions do what they like.
fn library(plan: &[&FunctionPlan], name: &str) -> String {
    let mut text = format!("#include \"{name}\"\n{HOSTILE}\n");
    for function in plan {
        let prototype = &function.prototype;
        let declared: Vec<String> = prototype
            .parameters
            .iter()
            .enumerate()
            .map(|(n, p)| format!("__typeof__({}) p{n}", p.kind.spelling))
            .collect();
        let declared = match (declared.is_empty(), prototype.variadic) {
            (true, _) => "void".to_owned(),
            (false, true) => format!("{}, ...", declared.join(", ")),
            (false, false) => declared.join(", "),
        };
        let words: Vec<String> = prototype
            .parameters
            .iter()
            .enumerate()
            .filter_map(|(n, p)| match p.kind.shape {
                Shape::Function(_) => Some(format!("{{CALLED, (uint64_t)p{n}}}")),
                Shape::Pointer(_) | Shape::Array(..) => Some(format!("{{POINTER, (uint64_t)p{n}}}")),
                Shape::Integer { .. } => Some(format!("{{NUMBER, (uint64_t)p{n}}}")),
                _ => None,
            })
            .collect();
        let back = match prototype.result.shape {
            Shape::Void => "(void)answer;".to_owned(),
            Shape::Float => "return (double)answer;".to_owned(),
            Shape::Record(_) => format!(
                "(void)answer;\n    __typeof__({}) record;\n    scribble_all((unsigned char *)&record, sizeof record);\n    return record;",
                prototype.result.spelling
            ),
            _ => format!("return (__typeof__({}))answer;", prototype.result.spelling),
        };
        let _ = writeln!(
            text,
            "__typeof__({}) ({})({declared})\n{{\n    uint64_t answer = hostile((struct argument[]){{{}{{NUMBER, 0}}}}, {});\n    {back}\n}}",
            prototype.result.spelling,
            function.name,
            words.iter().map(|word| format!("{word}, ")).collect::<String>(),
            words.len()
        );
    }
    text
}

/// What the program does with something that the library gave.
fn look(value: &str, outcome: &Outcome, own: &str, plan: &Plan, given: &str) -> String {
    match outcome {
        Outcome::String { .. } => format!("    if ({value}) hm_touch({value}, strlen({value}));\n"),
        Outcome::Strings { count, .. } => {
            let end = count.as_ref().and_then(|count| simple(count, own));
            let end = end.map_or("1".to_owned(), |end| format!("i < (long)({end})"));
            let always = count.is_none();
            if always || count.as_ref().is_some_and(|count| simple(count, own).is_some()) {
                let text = if always { format!("{value}[i]") } else { end };
                format!(
                    "    if ({value}) for (long i = 0; {text}; i++) if ({value}[i]) hm_touch({value}[i], strlen({value}[i]));\n"
                )
            } else {
                String::new()
            }
        }
        Outcome::Memory { buffer } => {
            let size = match &buffer.size {
                None => Some("1".to_owned()),
                Some(size) => simple(size, own),
            };
            size.map_or(String::new(), |size| {
                format!("    if ({value}) hm_touch({value}, (size_t)({size}) * {});\n", buffer.element)
            })
        }
        Outcome::Record { key, count: Count::One, .. } => {
            format!("    if ({value}) hm_touch({value}, {});\n", plan.records[key].size)
        }
        Outcome::Record { .. } if given == "lg_given" => {
            format!("    if ({value}) hm_touch({value}, {given});\n")
        }
        Outcome::Record { key, count: Count::Of(count), .. } => {
            let size = plan.records[key].size;
            simple(count, own).map_or(String::new(), |count| {
                format!("    if ({value}) hm_touch({value}, (size_t)({count}) * {size});\n")
            })
        }
        Outcome::Record { key, .. } => {
            format!("    if ({value}) hm_touch({value}, {});\n", plan.records[key].size)
        }
        Outcome::Data { .. } => format!("    hm_mine({value});\n"),
        // (What calls setjmp with it outlives all calls.)
        Outcome::JumpBuffer { .. } => format!("    hm_landing = (void *){value};\n"),
        Outcome::Filled { key } => {
            format!("    if ({value}) hm_touch({value}, {});\n", plan.records[key].size)
        }
        Outcome::Within { element, count: None, .. } => {
            format!("    if ({value}) hm_touch({value}, {element});\n")
        }
        _ => String::new(),
    }
}

/// Whether the program has a function of this type: not of one that jumps, as then no call of the program's would come back.
fn has_callback(callback: &CallbackPlan) -> bool {
    !callback.parameters.contains(&Outcome::Jump)
}

fn callback(callback: &CallbackPlan, plan: &Plan) -> String {
    let CallbackPlan { name, prototype, parameters, .. } = callback;
    let declared: Vec<String> =
        prototype.parameters.iter().map(|p| format!("__typeof__({}) {}", p.kind.spelling, p.name)).collect();
    let declared = if declared.is_empty() { "void".to_owned() } else { declared.join(", ") };
    let mut text =
        format!("static __typeof__({}) called_{name}({declared})\n{{\n", prototype.result.spelling);
    for (parameter, outcome) in prototype.parameters.iter().zip(parameters) {
        let _ = writeln!(text, "    (void){};", parameter.name);
        text += &look(&parameter.name, outcome, &parameter.name, plan, "1");
        if parameter.kind.is_bool() {
            let _ = writeln!(text, "    hm_boolean(&{});", parameter.name);
        }
    }
    text += if prototype.result.shape == Shape::Void { "}\n" } else { "    return 0;\n}\n" };
    text
}

/// One argument: statements before the call, and after it.
fn argument(parameter: &Parameter, passing: &Passing, plan: &Plan) -> (String, String) {
    let name = &parameter.name;
    let pointee = parameter.kind.pointee().map_or("char".to_owned(), |to| to.spelling.replace("const ", ""));
    // (`char out[29]` is a pointer, too.)
    let array = parameter.kind.spelling.contains('[') && parameter.kind.pointee().is_some();
    let kind = &if array { format!("{pointee} *") } else { parameter.kind.spelling.clone() };
    let room = |size: &Option<Expression>, element: u64| match size {
        None => format!("hm_room({element})"),
        Some(size) => simple(size, name).map_or("hm_text_room(65536)".to_owned(), |size| {
            format!("hm_room((long)({size}) < 0 ? 0 : (size_t)({size}) * {element})")
        }),
    };
    let value = match passing {
        Passing::Value => match parameter.kind.shape {
            Shape::Float => "1.5".to_owned(),
            Shape::Record(_) => {
                let filled = format!(
                    "    __typeof__({kind}) {name};\n    memset(&{name}, (int)(hm_any() & 1), sizeof {name});\n"
                );
                return (filled, String::new());
            }
            Shape::Array(..) => return (format!("    __typeof__({kind}) {name} = {{0}};\n"), String::new()),
            _ => format!("(__typeof__({kind}))hm_small()"),
        },
        Passing::String { .. } => "hm_text_room(hm_small() + 1)".to_owned(),
        Passing::Buffer(buffer) => room(&buffer.size, buffer.element),
        Passing::Scalar(buffer) => format!("hm_number({})", buffer.element),
        Passing::Record { buffer, kept: false, key, .. } if plan.records[key].is_plain() => {
            room(&buffer.size, buffer.element)
        }
        Passing::Record { kept: true, key, .. } => format!("hm_kept({})", plan.records[key].size),
        Passing::Record { buffer: lockgate_stubs::plan::Buffer { size: None, .. }, key, .. } => {
            format!("hm_empty({})", plan.records[key].size)
        }
        Passing::Stream { .. } => "hm_stream()".to_owned(),
        Passing::Handle { number, data: true, .. } => {
            let handle = format!(
                "    __typeof__({kind}) {name} = (void *)hm_handle({number});\n    hm_is_data({name});\n"
            );
            return (handle, String::new());
        }
        Passing::Handle { number, release, .. } => {
            let after = if *release { format!("    hm_dead({name});\n") } else { String::new() };
            return (format!("    __typeof__({kind}) {name} = (void *)hm_handle({number});\n"), after);
        }
        Passing::Pointer { before, after } => {
            let mut text = format!("    __typeof__({pointee}) lg_at_{name} = 0;\n");
            if let Some(Passing::Handle { number, .. }) = before.as_deref() {
                text = format!("    __typeof__({pointee}) lg_at_{name} = (void *)hm_handle({number});\n");
            }
            text += &format!("    __typeof__({kind}) {name} = (void *)&lg_at_{name};\n");
            let seen = match &**after {
                Outcome::Handle { number, .. } => format!("    hm_born({number}, lg_at_{name});\n"),
                after => look(&format!("lg_at_{name}"), after, name, plan, "1"),
            };
            return (text, seen);
        }
        Passing::Callback { name: type_name } if plan.callbacks.get(type_name).is_some_and(has_callback) => {
            format!("hm_small() ? (void *)called_{type_name} : 0")
        }
        Passing::Data { .. } => "hm_data()".to_owned(),
        _ => "0".to_owned(),
    };
    let after = match passing {
        Passing::Scalar(_) if parameter.kind.pointee().is_some_and(|to| to.is_bool()) => {
            format!("    hm_boolean({name});\n")
        }
        _ => String::new(),
    };
    (format!("    __typeof__({kind}) {name} = (void *)0 == 0 ? (__typeof__({kind}))({value}) : 0;\n"), after)
}

/// What stands behind a format, in which there are such conversions.
const ARGUMENTS: &str = "(int)hm_small(), \"text\", 1.5, 'c', (long)hm_small()";

/// A function that passes its variable arguments on as a list.
fn with_list(function: &FunctionPlan) -> String {
    let FunctionPlan { name, prototype, .. } = function;
    let (_, taken) = prototype.parameters.split_last().expect("a list");
    let declared = taken.iter().map(|p| format!("__typeof__({}) {}", p.kind.spelling, p.name));
    let names: Vec<&str> = taken.iter().map(|p| p.name.as_str()).collect();
    let last = names.last().expect("a format");
    let (kind, call) = (&prototype.result.spelling, format!("({name})({}, lg_list)", names.join(", ")));
    let (got, back) = match prototype.result.shape {
        Shape::Void => (call, ""),
        _ => (format!("__typeof__({kind}) lg_got = {call}"), "    return lg_got;\n"),
    };
    format!(
        "static __typeof__({kind}) list_{name}({}, ...)\n{{\n    va_list lg_list;\n    va_start(lg_list, {last});\n    {got};\n    va_end(lg_list);\n{back}}}\n",
        declared.collect::<Vec<_>>().join(", ")
    )
}

fn program(plan: &Plan, functions: &[&FunctionPlan], header: &str, name: &str) -> String {
    let short = word(name);
    let mut text = format!(
        "#include <{header}>\n#define GIVEN lg_{short}_given\n#define ERROR lg_{short}_error\n{HOST}\n"
    );
    for callback_plan in plan.callbacks.values().filter(|c| has_callback(c)) {
        text += &callback(callback_plan, plan);
    }
    let as_data = |function: &FunctionPlan| -> BTreeSet<usize> {
        let number = |passing: &Passing| match passing {
            Passing::Handle { number, data: true, .. } => Some(*number),
            _ => None,
        };
        function.parameters.iter().filter_map(number).collect()
    };
    let as_data: BTreeSet<usize> = functions.iter().flat_map(|function| as_data(function)).collect();
    // (Functions that make a list of their arguments stand before all that call them.)
    let before = std::mem::take(&mut text);
    let mut lists = String::new();
    for function in functions {
        let FunctionPlan { name, prototype, parameters, result, borrowed, .. } = function;
        let _ = writeln!(text, "static void call_{name}(void)\n{{");
        let mut after = String::new();
        // Numbers first: sizes speak of them; then strings.
        let order = |passing: &Passing| match passing {
            Passing::Value | Passing::Scalar(_) => 0,
            Passing::String { .. } => 1,
            _ => 2,
        };
        let mut all: Vec<_> = prototype.parameters.iter().zip(parameters).collect();
        all.sort_by_key(|(_, passing)| order(passing));
        for (parameter, passing) in all {
            let (before, then) = argument(parameter, passing, plan);
            text += &before;
            after += &then;
        }
        let mut names: Vec<&str> = prototype.parameters.iter().map(|p| p.name.as_str()).collect();
        let list = function.formatted.as_ref().and_then(|formatted| formatted.list.as_deref());
        let call = match (list, prototype.variadic) {
            (None, false) => format!("({name})({})", names.join(", ")),
            // (`hm_format` goes with these; the text and the list stand last.)
            (None, true) => {
                names.pop();
                format!("({name})({}, {ARGUMENTS})", [&names[..], &["hm_format()"]].concat().join(", "))
            }
            (Some(_), _) => {
                names.truncate(names.len().saturating_sub(2));
                lists += &with_list(function);
                format!("list_{name}({}, {ARGUMENTS})", [&names[..], &["hm_format()"]].concat().join(", "))
            }
        };
        // Where handlers get a handle itself, they get those, too, that are made with it.
        let made = match result {
            Outcome::Handle { number, .. } if as_data.contains(number) => {
                text += "    hm_makes(1);\n";
                "    hm_is_data(lg_got);\n    hm_makes(-1);\n"
            }
            _ => "",
        };
        if prototype.result.shape == Shape::Void {
            let _ = writeln!(text, "    {call};");
        } else {
            let _ = writeln!(text, "    __typeof__({}) lg_got = {call};", prototype.result.spelling);
            text += made;
            text += "    size_t lg_given = GIVEN();\n    (void)lg_given, (void)lg_got;\n";
            if prototype.result.is_bool() {
                text += "    hm_boolean(&lg_got);\n";
            }
            if is_by_value(&prototype.result) {
                text += "    hm_touch(&lg_got, sizeof lg_got);\n";
            }
            text += &match result {
                Outcome::Handle { number, .. } if !borrowed => format!("    hm_born({number}, lg_got);\n"),
                Outcome::Memory { .. } => "    if (lg_got) hm_touch(lg_got, lg_given);\n".to_owned(),
                Outcome::Lent { .. } => "    if (lg_got) memset(lg_got, 'l', lg_given);\n".to_owned(),
                other => look("lg_got", other, "result", plan, "lg_given"),
            };
        }
        text += &after;
        for name in names {
            let _ = writeln!(text, "    (void){name};");
        }
        text += "    hm_give_back();\n}\n";
    }
    text = format!("{before}{lists}{text}static void (*const calls[])(void) = {{");
    text += &functions.iter().map(|f| format!("call_{}, ", f.name)).collect::<String>();
    text + "};\n" + "enum { CALLS = sizeof calls / sizeof *calls };\nMAIN\n"
}

fn hammer(header: &Header, name: &str, module_flags: &[String]) {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = |name: &str| folder.path().join(name);
    let option = |prefix: &str| -> Vec<String> {
        header.flags.iter().filter_map(|flag| flag.strip_prefix(prefix)).map(str::to_owned).collect()
    };
    let source = Source {
        header: header.path.clone(),
        annotations: header.annotations.clone(),
        includes: option("-I").into_iter().map(PathBuf::from).collect(),
        defines: option("-D"),
    };
    let client = Client::of(&source, &path("module.lg")).expect("a plan");
    let (functions, others): (Vec<&FunctionPlan>, Vec<_>) =
        client.plan.functions.iter().partition(|f| can_be_called(f));
    let others: Vec<&str> = others.iter().map(|function| function.name.as_str()).collect();
    std::fs::write(path("library.c"), library(&functions, header.include)).expect("a file");
    std::fs::write(path("program.c"), program(&client.plan, &functions, header.include, name))
        .expect("a file");
    let beside = format!("-I{}", header.path.parent().expect("a folder").display());
    let mut compile = Command::new(LOCKGATE);
    compile.args(["cc", "-g", "-O1", "-w", "-c"]).args(&header.flags).args(module_flags).arg(&beside);
    done(compile.arg(path("library.c")).arg("-o").arg(path("library.o"))).expect("the library compiles");
    let mut stubs = Command::new(LOCKGATE);
    stubs
        .arg("stubs")
        .arg(&header.path)
        .args(header.flags.iter().filter(|flag| flag.starts_with("-I") || flag.starts_with("-D")));
    for annotations in &header.annotations {
        stubs.arg("-a").arg(annotations);
    }
    stubs.arg("--partial").arg("--defined-in").arg(path("library.o")).arg("-m").arg(path("module.lg"));
    done(stubs.arg("-o").arg(path("client"))).expect("stubs");
    let mut link = Command::new(LOCKGATE);
    link.args(["cc", "-g", "-w"]).arg(path("library.o")).arg("-lm").arg("-o").arg(path("module.lg"));
    let word = word(name);
    done(link.arg("--exports").arg(path(&format!("client/{word}.exports")))).expect("it links");
    let mut host = Command::new("gcc");
    host.args(["-g", "-O0", "-w", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
    host.args(BY_CALLS).arg("-I");
    host.arg(path("client")).args(&header.flags).arg(&beside).arg("-I").arg(prefix().join("include"));
    host.arg(path("program.c")).arg(path(&format!("client/{word}_client.c"))).arg("-o").arg(path("program"));
    let library = prefix().join("lib");
    host.arg("-L").arg(&library).arg("-llockgate").arg(format!("-Wl,-rpath,{}", library.display()));
    done(host.args(["-lpthread", "-lm"])).expect("the program compiles");
    let seconds = std::env::var(SECONDS).unwrap_or_else(|_| "1".to_owned());
    let mut run = Command::new(path("program"));
    run.arg(&seconds).env("ASAN_OPTIONS", "detect_leaks=0").current_dir(folder.path());
    let text = done(&mut run).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    eprintln!("{name}: {} functions, without {others:?}; {}", functions.len(), text.trim());
    let good = text.split(' ').next().and_then(|number| number.parse::<u64>().ok());
    assert!(good.is_some_and(|calls| calls > 300), "{name}: hardly a call: {text}");
}

/// Files of `share/stubs` whose libraries the corpus does not have, each with a copy of its header, which has what the annotations speak of.
const COPIES: [(&str, &str); 5] = [
    ("brotli_decode", "brotli/decode.h"),
    ("brotli_encode", "brotli/encode.h"),
    ("lz4", "lz4.h"),
    ("lz4frame", "lz4frame.h"),
    ("zstd", "zstd.h"),
];

/// The header that `share/stubs/<name>.lg.h` speaks of, and the name of its client.
fn header_of(annotations: &Path) -> (Header, &'static str) {
    let file = annotations.file_name().and_then(|name| name.to_str()).expect("a name");
    let name = file.strip_suffix(".lg.h").expect("annotations");
    let all = vec![annotations.to_owned()];
    if let Some(&(name, header)) = COPIES.iter().find(|(copy, _)| *copy == name) {
        let copies = corpus().root().join("crates/lockgate-stubs/tests/headers");
        let flags = vec![format!("-I{}", copies.display())];
        return (Header { path: copies.join(header), include: header, annotations: all, flags }, name);
    }
    let library = LIBRARIES.iter().find(|library| library.annotations == file);
    let library = library.unwrap_or_else(|| panic!("{file}: no header is known for it"));
    let main = corpus().library(library.name).expect("in the corpus");
    let mut flags = main.flags();
    flags.extend(library.defines.iter().map(|define| format!("-D{define}")));
    let paths = main.includes.iter().map(|include| include.join(library.header));
    let path = paths.into_iter().find(|path| path.is_file()).expect("the header");
    (Header { path, include: library.header, annotations: all, flags }, library.client)
}

/// Half of the headers of `share/stubs`, and of those of the other tests; the other half with another run, all of them for as long as one says.
#[test]
fn random_answers_lead_no_program_astray() {
    let include = format!("-I{}", corpus().root().join("crates/lockgate-headers/include").display());
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stubs");
    let is_long = std::env::var_os(SECONDS).is_some();
    let part = Part::one_in(if is_long { 1 } else { 2 }, "headers of the tests");
    for (name, file) in part.among([("tricky", "tricky.h"), ("sly", "sly.h"), ("keeper", "keeper.h")]) {
        let header = Header {
            path: own.join(file),
            include: file,
            annotations: Vec::new(),
            flags: vec![include.clone()],
        };
        hammer(&header, name, &[]);
    }
    let files = std::fs::read_dir(corpus().root().join("share/stubs")).expect("a folder");
    let files: BTreeSet<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    let headers: Vec<_> = files.iter().map(|file| header_of(file)).collect();
    // (SQLite's client, which takes as long to compile as all others, is left to `make stubs-hammer`.)
    let wanted = headers.iter().filter(|(_, name)| is_long || *name != "sqlite");
    let part = Part::one_in(if is_long { 1 } else { 2 }, "headers of libraries");
    for (header, name) in part.among(wanted) {
        hammer(header, name, &[]);
    }
}

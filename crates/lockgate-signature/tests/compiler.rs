//! What a C compiler says of prototypes that are taken for good: random ones, and random ones with a token changed. It accepts them, and
//! sizes, alignments and places of everything in a result, and the kinds of parameters, are as they were understood.
use lockgate_signature::{Signature, Type};
use std::fmt::Write;
use std::process::Command;

const SCALARS: &[&str] = &[
    "char",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short int",
    "int",
    "unsigned",
    "long",
    "long int unsigned",
    "long long",
    "float",
    "double",
    "_Bool",
    "size_t",
    "int16_t",
    "uint32_t",
    "const int",
    "enum { E = 1, F }",
];

/// What takes the place of a token, or stands before one.
const TOKENS: &[&str] = &[
    "int",
    "unsigned",
    "char",
    "short",
    "long",
    "float",
    "double",
    "_Complex",
    "__int128",
    "_Bool",
    "void",
    "enum",
    "struct",
    "const",
    "register",
    "size_t",
    "x",
    "y",
    "*",
    "(",
    ")",
    "[",
    "]",
    "[2]",
    "0",
    "3",
    "010",
    "08",
    "0x2",
    ",",
    ";",
    "{",
    "}",
    ":",
    "(*g)",
    "(*h[3])(int)",
    "double (z)",
    "struct { char c; } ",
    "_Alignas(16)",
    "__attribute__((packed))",
];

/// Marsaglia's xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    fn kind(&mut self, depth: usize) -> String {
        if depth == 0 || self.below(3) > 0 {
            return self.of(SCALARS).to_owned();
        }
        self.structure(depth - 1)
    }

    fn structure(&mut self, depth: usize) -> String {
        let mut text = "struct {".to_owned();
        for number in 0..1 + self.below(4) {
            let kind = self.kind(depth);
            let first = self.declarator(&format!("a{number}"));
            let second = if self.below(4) == 0 {
                ", ".to_owned() + &self.declarator(&format!("b{number}"))
            } else {
                String::new()
            };
            let _ = write!(text, " {kind} {first}{second} ;");
        }
        text + " }"
    }

    fn dimensions(&mut self) -> String {
        (0..self.below(3)).map(|_| format!("[ {} ]", self.below(4))).collect()
    }

    fn declarator(&mut self, name: &str) -> String {
        let dimensions = self.dimensions();
        match self.below(8) {
            0 => format!("* {name} {dimensions}"),
            1 => format!("( * {name} {dimensions} )( int , void ( * )( void ) )"),
            2 => format!("( * {name} {dimensions} )[ 3 ]"),
            3 => format!("* const * {name} {dimensions}"),
            4 => format!("( * {name} {dimensions} )( void )"),
            _ => format!("{name} {dimensions}"),
        }
    }

    /// The text with a token taken away, doubled, replaced or put before another.
    fn changed(&mut self, text: &str) -> String {
        let mut tokens: Vec<&str> = text.split_whitespace().collect();
        let at = self.below(tokens.len());
        match self.below(4) {
            0 => drop(tokens.remove(at)),
            1 => tokens.insert(at, tokens[at]),
            2 => tokens[at] = self.of(TOKENS),
            _ => tokens.insert(at, self.of(TOKENS)),
        }
        tokens.join(" ")
    }
}

/// C types of which a parameter is one.
fn candidates(kind: &Type) -> Option<&'static str> {
    Some(match kind {
        Type::Bool => "_Bool",
        Type::Float => "float",
        Type::Double => "double",
        Type::Integer { bytes: 1, signed: true } => "char, signed char",
        Type::Integer { bytes: 1, signed: false } => "unsigned char",
        Type::Integer { bytes: 2, signed: true } => "short",
        Type::Integer { bytes: 2, signed: false } => "unsigned short",
        Type::Integer { bytes: 4, signed: true } => "int",
        Type::Integer { bytes: 4, signed: false } => "unsigned",
        Type::Integer { signed: true, .. } => "long, long long",
        Type::Integer { signed: false, .. } => "unsigned long, unsigned long long",
        Type::Pointer => return Some(""),
        Type::Void | Type::Struct(_) => return None,
    })
}

const ARITHMETIC: &str = "_Bool, float, double, char, signed char, unsigned char, short, unsigned short, int, unsigned, long, long long, \
     unsigned long, unsigned long long";

/// Assertions that the compiler must find true of the function called `name`.
fn claims(name: &str, text: &str, signature: &Signature) -> String {
    let mut claims = String::new();
    if let ([], Type::Struct(_)) = (&signature.parameters[..], &signature.result) {
        let (size, alignment) = (signature.result.size(), signature.result.alignment());
        let kind = format!("__typeof__({name}())");
        let _ = write!(
            claims,
            "_Static_assert(sizeof({kind}) == {size} && _Alignof({kind}) == {alignment}, \"\");"
        );
    }
    if let ([kind], false) = (&signature.parameters[..], text.contains("enum") || !text.starts_with("int f"))
        && let Some(of) = candidates(kind)
    {
        let is = |list: &str| -> String {
            let each = list
                .split(", ")
                .map(|of| format!("__builtin_types_compatible_p(__typeof__({name}), int({of}))"));
            each.collect::<Vec<_>>().join(" || ")
        };
        let claim = match of {
            "" => format!("!({}) && sizeof({name}) == 1", is(ARITHMETIC)),
            of => is(of),
        };
        let _ = write!(claims, "_Static_assert({claim}, \"\");");
    }
    claims
}

/// What the compiler finds wrong with a text, by its line.
fn wrong(program: &str) -> Vec<(usize, String)> {
    let folder = std::env::temp_dir().join(format!("lockgate-signature-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("prototypes.c");
    std::fs::write(&file, program).unwrap();
    let compiler = Command::new("gcc")
        .args(["-std=gnu17", "-fsyntax-only", "-w", "-fmax-errors=0", "-fno-diagnostics-show-caret"])
        .env("LC_ALL", "C")
        .arg(&file)
        .output()
        .expect("gcc");
    std::fs::remove_dir_all(&folder).unwrap();
    let said = String::from_utf8_lossy(&compiler.stderr).into_owned();
    let errors = said.lines().filter_map(|line| {
        let (place, what) = line.split_once(": error: ")?;
        let number = place.split(':').nth(1)?.parse().ok()?;
        // Names, what types there are elsewhere, and what a pointer points to, are nothing to a call.
        let harmless = [
            "duplicate member",
            "redeclaration of",
            "invalid use of 'restrict'",
            "undeclared",
            "redeclared",
            "wrong kind of tag",
            "redefinition of 'struct",
            "incomplete",
        ];
        (!harmless.iter().any(|part| what.contains(part))).then(|| (number, what.to_owned()))
    });
    errors.collect()
}

#[test]
fn the_compiler_agrees_with_whatever_is_accepted() {
    let mut random = Random(0x1057_1e55_0f5a_fe7e);
    let mut program =
        "#include <stddef.h>\n#include <stdint.h>\n#include <stdbool.h>\ntypedef struct { char c; } x, y;\n"
            .to_owned();
    let mut texts = vec![String::new(); 4];
    let (mut plain, mut changed) = (0, 0);
    for number in 0..12_000 {
        let name = format!("f{number}");
        let text = if random.below(2) == 0 {
            format!("{} {name} ( void )", random.structure(2))
        } else {
            let kind = random.kind(1);
            let parameter = random.below(4);
            let declared = if parameter == 0 { "" } else { &random.declarator("x") };
            format!("int {name} ( {kind} {declared} )")
        };
        let is_plain = random.below(4) == 0;
        let text = if is_plain { text } else { random.changed(&text) };
        // A repeated type may be as the compiler says; enumerators are declared once.
        let text = text.replace("E = 1", &format!("E{number} = 1")).replace(", F", &format!(", F{number}"));
        let parsed = text.parse::<Signature>();
        assert!(!is_plain || parsed.is_ok() || text.matches("enum").count() > 1, "{text}: {parsed:?}");
        let Ok(signature) = parsed.as_ref().map_err(|_| ()) else { continue };
        // The value of a length that is named is unknown here.
        if signature.name != name || ["[ x ]", "[ y ]", "[ size_t ]"].iter().any(|part| text.contains(part)) {
            continue;
        }
        *(if is_plain { &mut plain } else { &mut changed }) += 1;
        let _ = writeln!(program, "{text}; {}", claims(&name, &text, signature));
        texts.push(text);
    }
    assert!(plain > 2_000 && changed > 600, "{plain} {changed}");
    let wrong: Vec<String> =
        wrong(&program).into_iter().map(|(line, what)| format!("{}: {what}", texts[line - 1])).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), texts.len(), wrong.join("\n"));
}

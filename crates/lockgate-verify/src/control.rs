//! Instructions that transfer control, and the few others that rule V1 allows by their exact bytes.
//! They carry no prefix but those shown here: with 66, AMD's processors truncate rip and Intel's do not (review.md, C9).

/// What the bytes at one place do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// `jcc`, `loop`, `jrcxz`: to the displacement from its end, or on.
    Branch(i32),
    /// `jmp`.
    Jump(i32),
    /// `call`.
    Call(i32),
    /// `ret`.
    Return,
    /// `int3`: the processor goes on behind it.
    Breakpoint,
    /// `ud2`: it does not.
    Trap,
    /// `endbr64`.
    Label,
    /// `call *%gs:disp`, to the absolute address.
    Gate(i32),
    /// `call *%reg` or `jmp *%reg`.
    Indirect {
        /// Number of the register.
        register: u8,
        /// Whether it is a call.
        call: bool,
    },
    /// A string instruction.
    String {
        /// Reads at rsi.
        source: bool,
        /// Reads or writes at rdi.
        destination: bool,
    },
    /// Padding that is not of canonical form.
    Nop,
}

/// Decodes a control transfer: its length and what it does.
pub(crate) fn decode(bytes: &[u8]) -> Option<(usize, Control)> {
    use Control::*;
    Some(match *bytes {
        [0x70..=0x7f | 0xe0..=0xe3, disp, ..] => (2, Branch(disp8(disp))),
        [0x0f, 0x80..=0x8f, a, b, c, d, ..] => (6, Branch(disp32(a, b, c, d))),
        [0xeb, disp, ..] => (2, Jump(disp8(disp))),
        [0xe9, a, b, c, d, ..] => (5, Jump(disp32(a, b, c, d))),
        [0xe8, a, b, c, d, ..] => (5, Call(disp32(a, b, c, d))),
        // What ld makes of `call *f@GOTPCREL(%rip)`; 67 has no effect.
        [0x67, 0xe8, a, b, c, d, ..] => (6, Call(disp32(a, b, c, d))),
        [0xc3, ..] => (1, Return),
        [0xcc, ..] => (1, Breakpoint),
        [0x0f, 0x0b, ..] => (2, Trap),
        [0xf3, 0x0f, 0x1e, 0xfa, ..] => (4, Label),
        [0x65, 0xff, 0x14, 0x25, a, b, c, d, ..] => (8, Gate(disp32(a, b, c, d))),
        [0xff, modrm @ (0xd0..=0xd7 | 0xe0..=0xe7), ..] => (2, indirect(modrm, 0)),
        [0x41, 0xff, modrm @ (0xd0..=0xd7 | 0xe0..=0xe7), ..] => (3, indirect(modrm, 8)),
        _ => return string(bytes).or_else(|| padding(bytes)),
    })
}

fn disp8(disp: u8) -> i32 {
    i32::from(disp as i8)
}

fn disp32(a: u8, b: u8, c: u8, d: u8) -> i32 {
    i32::from_le_bytes([a, b, c, d])
}

fn indirect(modrm: u8, extension: u8) -> Control {
    Control::Indirect { register: modrm & 7 | extension, call: modrm < 0xe0 }
}

/// `[66] [f2|f3] [48] movs|cmps|stos|lods|scas`. 66 and 48 only with the word forms and not both; f2 only with the
/// two that compare.
fn string(bytes: &[u8]) -> Option<(usize, Control)> {
    let mut at = 0;
    let mut take_if = |wanted: &[u8]| {
        let found = bytes.get(at).is_some_and(|byte| wanted.contains(byte));
        at += usize::from(found);
        found
    };
    let word = take_if(&[0x66]);
    let not_equal = take_if(&[0xf2]);
    let _repeat = !not_equal && take_if(&[0xf3]);
    let quad = take_if(&[0x48]);
    let opcode = *bytes.get(at)?;
    let compares = matches!(opcode, 0xa6 | 0xa7 | 0xae | 0xaf);
    if word && quad || (word || quad) && opcode & 1 == 0 || not_equal && !compares {
        return None;
    }
    let (source, destination) = match opcode {
        0xa4..=0xa7 => (true, true),
        0xaa | 0xab | 0xae | 0xaf => (false, true),
        0xac | 0xad => (true, false),
        _ => return None,
    };
    Some((at + 1, Control::String { source, destination }))
}

/// gas's long padding: `nopw %cs:0(%rax,%rax,1)` with one to six 66 prefixes.
fn padding(bytes: &[u8]) -> Option<(usize, Control)> {
    const TAIL: [u8; 9] = [0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0];
    let prefixes = bytes.iter().take_while(|&&byte| byte == 0x66).count();
    let tail = bytes.get(prefixes..prefixes + TAIL.len())?;
    ((1..=6).contains(&prefixes) && tail == TAIL).then_some((prefixes + TAIL.len(), Control::Nop))
}

//! The allow-list of encoding forms (rule V1), as tables for the decoder.
//!
//! The list is text, `encodings.txt`: one line per form, everything not listed is refused. A line reads like the
//! processor manuals' opcode column followed by what the rules need to know about the operands:
//!
//! ```text
//! legacy.66.0f.w0 6e /r reg=v rm=g mem=4 probe ; movd
//! ^encoding       ^opcode    ^register and memory operands
//! ```
//!
//! `encoding`: `legacy`, `vex` or `evex`; mandatory or operand-size prefixes; opcode map; W; vector length.
//! After the opcode: `/r` (ModRM), `/0`–`/7` (ModRM with this digit), `+r` (register in the opcode), `--` (no operand byte).
//!
//! | attribute | meaning |
//! |---|---|
//! | `reg=` `rm=` `vvvv=` `op=` | kind of the register in this field: `g` general, `b` byte, `v` vector, `k` mask, `x` MMX or x87 |
//! | `rms=0145` | the only legal values of ModRM.rm with mod = 3 |
//! | `mem=N` | a memory operand is legal; at most N bytes are accessed (0: only the address is computed) |
//! | `implicit=N` | N bytes at an address that no field names (xlat, maskmov) |
//! | `moffs` `vsib` | the address is an immediate; the index is a vector |
//! | `write=` | fields whose general register is written; `rbx` if it is written implicitly |
//! | `distinct` | the registers that it names must differ |
//! | `imm=N` | bytes of immediate |
//! | `scale=N` `bcst=N` | EVEX: disp8 counts N bytes; broadcast elements have N bytes |
//! | `mask` `needmask` `zero` `zero-register` | EVEX: masking, mask required, zeroing, zeroing unless it is a store |
//! | `er` `sae` | EVEX: rounding, exceptions suppressed |
//! | `lock` | may carry F0 with a memory destination |
//! | `probe` | its access to the data stack ends a change of rsp (rule V3) |
//! | `needs=` | what the processor must have for it, of [`FEATURES`](crate::FEATURES) (rule V6) |
//! | `x87` `environment` `mxcsr-read` `mxcsr-write` `maskregs` `ymm` `cpuid` | what it adds to the report (rule V6) |
//!
//! `tests/encodings.rs` makes the file from `forms.txt` (mnemonics) and compares every line with iced-x86.

use crate::features;
use std::sync::LazyLock;

/// Bits of [`Form::flags`].
pub(crate) mod flag {
    macro_rules! flags {
        ($($(#[$doc:meta])* $name:ident)*) => { flags!(@ 0u32; $($(#[$doc])* $name)*); };
        (@ $bit:expr; $(#[$doc:meta])* $name:ident $($rest:tt)*) => {
            $(#[$doc])* pub(crate) const $name: u32 = 1 << ($bit);
            flags!(@ $bit + 1; $($rest)*);
        };
        (@ $bit:expr;) => {};
    }
    flags! {
        /// The form exists (an all-zero form is a refusal).
        LISTED
        /// The real forms follow, indexed by `(mod == 3) * 8 + reg`.
        GROUP
        /// Has a ModRM byte.
        MODRM
        /// The low three bits of the opcode are a register.
        OPREG
        /// A memory operand is legal.
        MEM
        /// The memory operand is only an address: nothing is accessed.
        ADDRESS_ONLY
        /// An address that no field names is accessed.
        IMPLICIT
        /// The address is an immediate.
        MOFFS
        /// The index register is a vector.
        VSIB
        /// Vector registers named by ModRM.reg, vvvv, ModRM.rm and the index must differ.
        DISTINCT
        /// See rule V3.
        PROBE
        /// F0 is legal with a memory operand.
        LOCK
        /// EVEX: a mask register may be named.
        MASK
        /// EVEX: zeroing is legal.
        ZERO
        /// EVEX: zeroing is legal if the destination is a register.
        ZERO_REGISTER
        /// EVEX: a mask register must be named.
        NEEDMASK
        /// EVEX: b with registers is rounding control or exception suppression.
        ROUNDING
        /// ModRM.reg is a byte register.
        REG_BYTE
        /// ModRM.rm, or the opcode's register, is a byte register.
        RM_BYTE
        /// Writes the general register in ModRM.reg.
        WRITE_REG
        /// Writes the general register in ModRM.rm (mod = 3).
        WRITE_RM
        /// Writes the general register in VEX.vvvv.
        WRITE_VVVV
        /// Writes the general register in the opcode.
        WRITE_OP
        /// Writes rbx implicitly.
        WRITE_RBX
        /// Uses x87 or MMX state.
        X87
        /// Reads the x87 environment.
        ENVIRONMENT
        /// Reads MXCSR.
        MXCSR_READ
        /// Writes MXCSR.
        MXCSR_WRITE
        /// Names a mask register.
        MASKREGS
        /// Names a vector register.
        VECTOR
        /// Names a ymm register or is a VEX vector instruction.
        YMM
        /// Asks the processor what it has.
        CPUID
    }
}

/// What the rules need to know about one form.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Form {
    /// Bits of [`flag`].
    pub flags: u32,
    /// What the processor must have.
    pub needs: u64,
    /// Bytes of immediate.
    pub imm: u8,
    /// Largest access, bytes.
    pub mem: u8,
    /// EVEX: bytes of a broadcast element; 0: no broadcast.
    pub bcst: u8,
    /// EVEX: what disp8 counts, log2 of bytes.
    pub shift: u8,
    /// EVEX: log2 of `bcst`.
    pub bcst_shift: u8,
    /// Legal values of ModRM.rm with mod = 3, one bit each.
    pub rms: u8,
    /// Largest register number in each field. Bits that a field does not use must be zero: later
    /// processors may give them a meaning (as APX did).
    pub reg_max: u8,
    pub rm_max: u8,
    pub vvvv_max: u8,
}

/// Encodings: how prefixes, map and opcode are laid out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Legacy = 0,
    Vex = 1,
    Evex = 2,
}

/// Number of the 256-opcode row of an encoding. `pp`: 0 none, 1 66, 2 F3, 3 F2, 4 none, 5 unused, 6 66 F3, 7 66 F2;
/// `map`: 0 one-byte, 1 0F, 2 0F38, 3 0F3A, 5, 6; `l`: 0–3 (EVEX), 0–1 (VEX), 0 (legacy).
#[inline(always)]
pub(crate) fn row(space: Space, map: u8, pp: u8, w: u8, l: u8) -> usize {
    let (map, pp, w, l) = (map as usize & 7, pp as usize & 7, w as usize & 1, l as usize & 3);
    match space {
        Space::Legacy => (map & 3) << 4 | pp << 1 | w,
        Space::Vex => 64 + ((map & 3) << 4 | (pp & 3) << 2 | w << 1 | l & 1),
        Space::Evex => 128 + (map << 5 | (pp & 3) << 3 | w << 2 | l),
    }
}

const ROWS: usize = 128 + 256;

/// The allow-list, indexed.
pub(crate) struct Forms {
    /// Per row and opcode, an index into `forms`; 0 is the refusal.
    index: Box<[u16; ROWS << 8]>,
    forms: Vec<Form>,
}

impl Forms {
    /// The allow-list of this version.
    pub(crate) fn get() -> &'static Forms {
        static FORMS: LazyLock<Forms> = LazyLock::new(|| {
            let lines = include_str!("encodings.txt").lines();
            let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
            Forms::new(lines.map(|line| {
                Line::parse(line).unwrap_or_else(|what| panic!("encodings.txt: {what} in '{line}'"))
            }))
        });
        &FORMS
    }

    /// The form of an opcode, or the group of its forms.
    #[inline(always)]
    pub(crate) fn first(&self, row: usize, opcode: u8) -> (usize, &Form) {
        let index = usize::from(self.index[row << 8 | usize::from(opcode)]);
        (index, &self.forms[index])
    }

    /// The form of a group for a ModRM byte.
    #[inline(always)]
    pub(crate) fn of_group(&self, group: usize, modrm: u8) -> &Form {
        &self.forms[group + 1 + usize::from(modrm >= 0xc0) * 8 + usize::from(modrm >> 3 & 7)]
    }

    fn new(lines: impl Iterator<Item = Line>) -> Forms {
        let mut by_opcode: std::collections::BTreeMap<usize, Vec<Line>> = Default::default();
        for line in lines {
            by_opcode.entry(line.index).or_default().push(line);
        }
        let mut this = Forms { index: Box::new([0; ROWS << 8]), forms: vec![Form::default()] };
        for (index, lines) in by_opcode {
            let entry = this.forms.len() as u16;
            if let [Line { digit: None, form, .. }] = lines[..] {
                let indices = if form.flags & flag::OPREG != 0 { index..index + 8 } else { index..index + 1 };
                this.index[indices].fill(entry);
                this.forms.push(form);
                continue;
            }
            this.index[index] = entry;
            let first = this.forms.len();
            this.forms.resize(first + 17, Form::default());
            this.forms[first].flags = flag::LISTED | flag::GROUP | flag::MODRM;
            for line in &lines {
                line.put(&mut this.forms[first + 1..]);
            }
        }
        this
    }
}

/// One line of the list.
struct Line {
    /// Row and opcode.
    index: usize,
    digit: Option<usize>,
    form: Form,
}

impl Line {
    /// Enters the form into the 16 places of its group.
    fn put(&self, group: &mut [Form]) {
        for digit in self.digit.map_or(0..8, |digit| digit..digit + 1) {
            if self.form.flags & flag::MEM != 0 {
                assert!(group[digit] == Form::default(), "encodings.txt: two forms for {:#x}", self.index);
                group[digit] = Form { rms: 0, ..self.form };
            }
            if self.form.rms != 0 {
                let form = Form { flags: self.form.flags & !(flag::MEM | flag::PROBE), mem: 0, ..self.form };
                let rms = group[8 + digit].rms;
                let same = rms == 0 || Form { rms, ..form } == group[8 + digit];
                assert!(same && rms & form.rms == 0, "encodings.txt: two forms for {:#x}", self.index);
                group[8 + digit] = Form { rms: rms | form.rms, ..form };
            }
        }
    }

    fn parse(line: &str) -> Result<Line, String> {
        let (line, _name) = line.split_once(';').ok_or("no name")?;
        let mut words = line.split_ascii_whitespace();
        let mut word = || words.next().ok_or("too few words");
        let (space, row) = parse_row(word()?)?;
        let opcode = u8::from_str_radix(word()?, 16).map_err(|e| e.to_string())?;
        let mut form = Form { flags: flag::LISTED, reg_max: 7, rm_max: 7, ..Form::default() };
        let mut digit = None;
        match word()? {
            "--" => (),
            "/r" => form.flags |= flag::MODRM,
            "+r" => form.flags |= flag::OPREG,
            other => {
                form.flags |= flag::MODRM;
                digit = Some(number(other.strip_prefix('/').ok_or("no '/'")?)?.min(7));
            }
        }
        for attribute in words {
            form.attribute(attribute, space)?;
        }
        Ok(Line { index: row << 8 | usize::from(opcode), digit: digit.map(usize::from), form })
    }
}

/// `"evex.66.0f38.w0.l2"`.
fn parse_row(text: &str) -> Result<(Space, usize), String> {
    let mut parts = text.split('.');
    let mut part = || parts.next().unwrap_or("");
    let space = match part() {
        "legacy" => Space::Legacy,
        "vex" => Space::Vex,
        "evex" => Space::Evex,
        other => return Err(format!("unknown encoding '{other}'")),
    };
    let place = |list: &[&str], what: &str| {
        list.iter().position(|&item| item == what).map(|i| i as u8).ok_or_else(|| format!("unknown '{what}'"))
    };
    let pp = place(&["np", "66", "f3", "f2", "-", "-", "66f3", "66f2"], part())?;
    let map = place(&["00", "0f", "0f38", "0f3a", "-", "map5", "map6"], part())?;
    let w = place(&["w0", "w1"], part())?;
    let l = if space == Space::Legacy { 0 } else { place(&["l0", "l1", "l2"], part())? };
    Ok((space, row(space, map, pp, w, l)))
}

fn number(text: &str) -> Result<u8, String> {
    text.parse().map_err(|_| format!("'{text}' is not a number"))
}

impl Form {
    fn attribute(&mut self, attribute: &str, space: Space) -> Result<(), String> {
        let (key, value) = attribute.split_once('=').unwrap_or((attribute, ""));
        let max = || match value {
            "g" | "b" => Ok(15),
            "v" => Ok(if space == Space::Evex { 31 } else { 15 }),
            "k" | "x" => Ok(7),
            _ => Err(format!("unknown kind of register '{value}'")),
        };
        let byte = |flag| if value == "b" { flag } else { 0 };
        if value == "v" {
            self.flags |= flag::VECTOR;
        }
        self.flags |= match key {
            "reg" => {
                self.reg_max = max()?;
                byte(flag::REG_BYTE)
            }
            "rm" => {
                (self.rm_max, self.rms) = (max()?, 0xff);
                byte(flag::RM_BYTE)
            }
            "vvvv" => {
                self.vvvv_max = max()?;
                0
            }
            "op" => byte(flag::RM_BYTE),
            "rms" => {
                self.rms = 0;
                for rm in value.bytes() {
                    self.rms |= 1 << (rm.wrapping_sub(b'0') & 7);
                }
                0
            }
            "mem" => {
                self.mem = number(value)?;
                flag::MEM | if self.mem == 0 { flag::ADDRESS_ONLY } else { 0 }
            }
            "implicit" => {
                self.mem = number(value)?;
                flag::IMPLICIT
            }
            "imm" => {
                self.imm = number(value)?;
                0
            }
            "scale" => {
                self.shift = number(value)?.trailing_zeros() as u8;
                0
            }
            "bcst" => {
                self.bcst = number(value)?;
                self.bcst_shift = self.bcst.trailing_zeros() as u8;
                0
            }
            "write" => {
                let mut flags = 0;
                for field in value.split(',') {
                    flags |= match field {
                        "reg" => flag::WRITE_REG,
                        "rm" => flag::WRITE_RM,
                        "vvvv" => flag::WRITE_VVVV,
                        "op" => flag::WRITE_OP,
                        "rbx" => flag::WRITE_RBX,
                        _ => return Err(format!("unknown field '{field}'")),
                    };
                }
                flags
            }
            "moffs" => flag::MOFFS,
            "vsib" => flag::VSIB,
            "distinct" => flag::DISTINCT,
            "needs" => {
                self.needs = features::set(value)?;
                0
            }
            "probe" => flag::PROBE,
            "lock" => flag::LOCK,
            "mask" => flag::MASK,
            "zero" => flag::ZERO,
            "zero-register" => flag::ZERO_REGISTER,
            "needmask" => flag::MASK | flag::NEEDMASK,
            "er" | "sae" => flag::ROUNDING,
            "x87" => flag::X87,
            "environment" => flag::ENVIRONMENT,
            "mxcsr-read" => flag::MXCSR_READ,
            "mxcsr-write" => flag::MXCSR_WRITE,
            "maskregs" => flag::MASKREGS,
            "ymm" => flag::YMM | flag::VECTOR,
            "cpuid" => flag::CPUID,
            _ => return Err(format!("unknown attribute '{attribute}'")),
        };
        Ok(())
    }
}

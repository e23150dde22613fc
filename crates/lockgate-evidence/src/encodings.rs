//! Encodings, enumerated: every combination of what each part of an instruction can be.
//!
//! A [`Slice`] is a product of parts. Together they hold every opcode of every map, behind legal and illegal prefixes, with every ModRM and SIB byte. What
//! cannot be had in full (EVEX has 2²⁴ prefixes, times 2²⁴ for opcode, ModRM and SIB) is crossed in several smaller products.

/// Bytes of an instruction. What follows it is text, too.
pub type Encoding = [u8; 16];

/// Part of an instruction: up to seven bytes, and their number last.
type Part = [u8; 8];

/// A product of parts.
pub struct Slice {
    /// What it is about.
    pub name: &'static str,
    prefixes: Vec<Part>,
    heads: Vec<Part>,
    operands: Vec<Part>,
    tails: &'static [[u8; 12]],
}

/// What follows ModRM and SIB: displacements and immediates of both signs.
const TAILS: &[[u8; 12]] = &[
    [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x08, 0x19, 0x2a, 0x3b, 0x4c],
    [0xf8, 0xe7, 0xd6, 0xc5, 0xb4, 0xa3, 0x92, 0x81, 0xf0, 0xef, 0xde, 0xcd],
];

impl Slice {
    /// Number of its encodings.
    #[must_use]
    pub fn len(&self) -> u64 {
        let parts = [self.prefixes.len(), self.heads.len(), 256, self.operands.len(), self.tails.len()];
        parts.into_iter().map(|part| part as u64).product()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them.
    #[must_use]
    pub fn get(&self, index: u64) -> Encoding {
        let mut rest = index;
        let mut digit = |size: usize| {
            let digit = rest % size as u64;
            rest /= size as u64;
            digit as usize
        };
        let tail = self.tails[digit(self.tails.len())];
        let operands = self.operands[digit(self.operands.len())];
        let opcode = [digit(256) as u8, 0, 0, 0, 0, 0, 0, 1];
        let head = self.heads[digit(self.heads.len())];
        let prefix = self.prefixes[digit(self.prefixes.len())];
        let (mut bytes, mut at) = (0, 0);
        for part in [prefix, head, opcode, operands] {
            let word = u64::from_le_bytes(part);
            bytes |= u128::from(word & (u64::MAX >> 8)) << (8 * at);
            at += word >> 56;
        }
        let mut tail_bytes = [0; 16];
        tail_bytes[..12].copy_from_slice(&tail);
        (bytes | u128::from_le_bytes(tail_bytes) << (8 * at)).to_le_bytes()
    }
}

/// All slices.
#[must_use]
pub fn slices() -> Vec<Slice> {
    let slice = |name, prefixes: Vec<Part>, heads: Vec<Part>, operands: Vec<Part>| Slice {
        name,
        prefixes,
        heads,
        operands,
        tails: TAILS,
    };
    let windowed = || vec![part(&[]), part(&[0x65, 0x67])];
    vec![
        slice("legacy maps, canonical prefixes, REX, ModRM, SIB", canonical(), legacy(), operands(EVERY_SIB)),
        slice("legacy maps, other prefixes", others(), legacy(), operands(SOME_SIBS)),
        slice("VEX2, ModRM, SIB", windowed(), vex2(), operands(EVERY_SIB)),
        slice("VEX3, ModRM", windowed(), vex3(1..4, 0..16), operands(SOME_SIBS)),
        slice("VEX3, ModRM, SIB", vec![part(&[0x65, 0x67])], vex3(1..4, 0..2), operands(EVERY_SIB)),
        slice("VEX3, all maps", windowed(), vex3(0..32, 0..16), few_operands()),
        slice(
            "VEX and EVEX behind other prefixes",
            others(),
            [vex2(), vex3(1..4, 0..1), evex(&MASKS)].concat(),
            few_operands(),
        ),
        slice("EVEX, registers", windowed(), evex(&REGISTERS), few_operands()),
        slice("EVEX, masks and lengths, ModRM", windowed(), evex(&MASKS), operands(SOME_SIBS)),
        slice("EVEX, vvvv", windowed(), evex(&VVVV), few_operands()),
        slice("EVEX, SIB", vec![part(&[0x65, 0x67])], evex(&PLAIN), operands(EVERY_SIB)),
        slice(
            "EVEX, every first and second byte",
            vec![part(&[])],
            evex(&RESERVED),
            vec![part(&[0x00]), part(&[0xc0])],
        ),
    ]
}

fn part(bytes: &[u8]) -> Part {
    let mut part = [0; 8];
    part[..bytes.len()].copy_from_slice(bytes);
    part[7] = bytes.len() as u8;
    part
}

/// Every prefix sequence that rule V1 calls canonical, the legacy ones of a form included.
fn canonical() -> Vec<Part> {
    let mut prefixes = Vec::new();
    for window in [&[][..], &[0x65, 0x67]] {
        for size in [&[][..], &[0x66]] {
            for repeat in [&[][..], &[0xf0], &[0xf2], &[0xf3]] {
                prefixes.push(part(&[window, size, repeat].concat()));
            }
        }
    }
    prefixes
}

/// Prefix sequences that it does not.
fn others() -> Vec<Part> {
    const BYTES: [u8; 11] = [0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3];
    let canonical = canonical();
    let one = BYTES.iter().map(|&byte| part(&[byte]));
    let two = BYTES.iter().flat_map(|&first| BYTES.iter().map(move |&second| part(&[first, second])));
    let windows: &[&[u8]] = &[
        &[0x66, 0x65, 0x67],
        &[0x65, 0x66, 0x67],
        &[0x65, 0x67, 0x65],
        &[0x65, 0x67, 0x67],
        &[0x65, 0x67, 0x64],
        &[0x65, 0x67, 0x3e],
        &[0x65, 0x67, 0xf3, 0x66],
        &[0x65, 0x67, 0x48, 0x66],
        &[0x48, 0x65, 0x67],
        &[0xd5, 0x00],
        &[0xd5, 0x80],
    ];
    let all = one.chain(two).chain(windows.iter().map(|bytes| part(bytes)));
    all.filter(|prefix| !canonical.contains(prefix)).collect()
}

/// REX or none, and the escape bytes of the four maps.
fn legacy() -> Vec<Part> {
    let rex = (0x3f..0x50).map(|rex| if rex == 0x3f { vec![] } else { vec![rex] });
    let escapes: [&[u8]; 4] = [&[], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a]];
    rex.flat_map(|rex| escapes.map(|escape| part(&[&rex, escape].concat()))).collect()
}

fn vex2() -> Vec<Part> {
    (0..=255).map(|byte| part(&[0xc5, byte])).collect()
}

/// Every R, X, B, W, L and pp with these maps and values of vvvv (as the manuals count: 0 is "none").
fn vex3(maps: std::ops::Range<u8>, vvvv: std::ops::Range<u8>) -> Vec<Part> {
    let mut heads = Vec::new();
    for map in maps {
        for rxb in 0..8 {
            for vvvv in vvvv.clone() {
                for rest in 0..16 {
                    let second = (rest & 8) << 4 | (!vvvv & 15) << 3 | rest & 7;
                    heads.push(part(&[0xc4, rxb << 5 | map, second]));
                }
            }
        }
    }
    heads
}

/// Which bits of EVEX's three bytes take both values; the others are as a form without registers beyond seven has them. W, pp, and the
/// maps 1, 2, 3, 5, 6 are always crossed, unless the bits name them.
struct EvexBits {
    bytes: [u8; 3],
}

/// R, X, B, R'; V' and the lowest bit of vvvv; L'L, b, the lowest bit of aaa.
const REGISTERS: EvexBits = EvexBits { bytes: [0xf0, 0x08, 0x79] };
/// z, L'L, b, aaa.
const MASKS: EvexBits = EvexBits { bytes: [0x00, 0x00, 0xf7] };
/// X (part of ModRM.rm), vvvv and V'; the longest and the shortest vector.
const VVVV: EvexBits = EvexBits { bytes: [0x40, 0x78, 0x48] };
/// X, B, V': all registers of an address; L'L.
const PLAIN: EvexBits = EvexBits { bytes: [0x60, 0x00, 0x68] };
/// Every first and second byte.
const RESERVED: EvexBits = EvexBits { bytes: [0xff, 0xff, 0x01] };

fn evex(bits: &EvexBits) -> Vec<Part> {
    let [first, second, third] = bits.bytes;
    let maps: &[u8] = if first & 7 == 7 { &[0] } else { &[1, 2, 3, 5, 6] };
    let mut heads = Vec::new();
    for map in maps {
        for p0 in subsets(first) {
            for p1 in subsets(second | 0x83) {
                for p2 in subsets(third) {
                    // R, X, B, R', vvvv and V' are stored inverted, and bit 2 of the second byte is one.
                    heads.push(part(&[0x62, p0 ^ 0xf0 | map, p1 ^ 0x7c, p2 ^ 0x08]));
                }
            }
        }
    }
    heads
}

/// All values of the bits of `mask`.
fn subsets(mask: u8) -> impl Iterator<Item = u8> {
    (0..=255).filter(move |value| value & !mask == 0)
}

/// SIB bytes: base and index each none, rsp, rbp or another, scales 1 and 8.
const SOME_SIBS: &[u8] = &[0x24, 0x25, 0x20, 0x04, 0x64, 0xe5, 0x2d, 0x81];
const EVERY_SIB: &[u8] = &{
    let mut sibs = [0; 256];
    let mut i = 0;
    while i < 256 {
        sibs[i] = i as u8;
        i += 1;
    }
    sibs
};

/// Every ModRM byte, with these SIB bytes where one follows.
fn operands(sibs: &[u8]) -> Vec<Part> {
    let with = |modrm: u8| match modrm {
        0xc0.. => vec![part(&[modrm])],
        _ if modrm & 7 == 4 => sibs.iter().map(|&sib| part(&[modrm, sib])).collect(),
        _ => vec![part(&[modrm])],
    };
    (0..=255).flat_map(with).collect()
}

/// Registers, addresses with and without SIB, displacements of each size; each digit of a group.
fn few_operands() -> Vec<Part> {
    let mut operands: Vec<Part> = (0..8).map(|digit| part(&[0xc0 | digit << 3 | (7 - digit)])).collect();
    for bytes in [
        &[0x05][..],
        &[0x07],
        &[0x47],
        &[0x84, 0x24],
        &[0x44, 0x24],
        &[0x0c, 0x61],
        &[0x14, 0x25],
        &[0x3c, 0xcf],
    ] {
        operands.push(part(bytes));
    }
    operands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other() {
        let slice = Slice {
            name: "one",
            prefixes: vec![part(&[0x65, 0x67])],
            heads: vec![part(&[0x48, 0x0f])],
            operands: vec![part(&[0x84, 0x24]), part(&[0xc1])],
            tails: TAILS,
        };
        assert_eq!(slice.len(), 1024);
        assert_eq!(slice.get(0xa2 * 4)[..9], [0x65, 0x67, 0x48, 0x0f, 0xa2, 0x84, 0x24, 0x11, 0x22]);
        assert_eq!(slice.get(0xa2 * 4 + 3)[..8], [0x65, 0x67, 0x48, 0x0f, 0xa2, 0xc1, 0xf8, 0xe7]);
    }

    /// The number that docs/appendix/evidence.md states.
    #[test]
    fn the_slices_are_as_large_as_is_said() {
        assert_eq!(slices().iter().map(Slice::len).sum::<u64>(), 27_125_399_552);
    }
}

//! The rewritten code of one section while its branches and paddings still have to find their sizes, and
//! the layout that gives them.

use crate::map::{Outlier, SectionMap};

/// A place in the new code: bytes of fixed size before it and variable pieces before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pos {
    fixed: u32,
    pieces: u32,
}

/// Where a branch goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// The code of instruction `index`, past its entry label if it has one.
    Body(u32),
    /// The code of instruction `index`, its entry label first.
    Entry(u32),
    /// A place made by [`Emitter::new_label`].
    Made(u32),
}

/// A piece of code whose size depends on the layout.
enum Piece {
    /// `jmp`.
    Jump(Target),
    /// `jcc`; the condition's number.
    Conditional(u8, Target),
    /// `jrcxz`, `jecxz`, `loop*`: prefix and opcode as one short jump.
    Counted { prefix: Option<u8>, opcode: u8, target: Target },
    /// Padding up to a multiple of `to` bytes if at most `limit` bytes do, else up to a multiple of 8.
    Align { to: u32, limit: u32 },
}

/// The rewritten code of one instruction.
#[derive(Clone, Copy)]
struct Code {
    entry: Pos,
    body: Pos,
    end: Pos,
}

/// A relocation of the new code.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CodeReloc {
    /// Offset of the field: before the layout among the fixed bytes, after it in the section.
    pub(crate) offset: u32,
    /// Index of the symbol.
    pub(crate) symbol: u32,
    /// Type.
    pub(crate) kind: u32,
    /// Addend of the input.
    pub(crate) addend: i64,
    /// Bytes from the field to the end of its instruction if the relocation is relative to rip, else 0.
    pub(crate) to_end: i64,
}

/// Collects the new code of one section.
pub(crate) struct Emitter {
    bytes: Vec<u8>,
    pieces: Vec<(u32, Piece)>,
    /// Relative 32-bit fields: place of the field, bytes from it to its instruction's end, target.
    fields: Vec<(Pos, u32, Target)>,
    relocs: Vec<(Pos, CodeReloc)>,
    code: Vec<Code>,
    /// Code apart from its instruction's: start, end, number of the instruction.
    outliers: Vec<(Pos, Pos, u32)>,
    made: Vec<Option<Pos>>,
    biases: Vec<(Pos, i32)>,
    bias: i32,
}

/// The finished code of one section.
pub(crate) struct Layout {
    /// Contents of the section.
    pub(crate) bytes: Vec<u8>,
    /// Its relocations, with addends of the input.
    pub(crate) relocs: Vec<CodeReloc>,
    /// Where everything went.
    pub(crate) map: SectionMap,
}

const SHORT: std::ops::RangeInclusive<i64> = -128..=127;

impl Emitter {
    /// An emitter for a section of `instructions` instructions in `size` bytes.
    pub(crate) fn new(instructions: usize, size: usize) -> Self {
        Emitter {
            bytes: Vec::with_capacity(size + size / 2),
            pieces: Vec::with_capacity(instructions / 6),
            fields: Vec::new(),
            relocs: Vec::new(),
            code: Vec::with_capacity(instructions + 1),
            outliers: Vec::new(),
            made: Vec::new(),
            biases: Vec::new(),
            bias: 0,
        }
    }

    /// The present place.
    pub(crate) fn pos(&self) -> Pos {
        Pos { fixed: self.bytes.len() as u32, pieces: self.pieces.len() as u32 }
    }

    /// The bytes emitted since `start`, without pieces.
    pub(crate) fn since(&self, start: Pos) -> &[u8] {
        &self.bytes[start.fixed as usize..]
    }

    /// Starts the code of the next instruction.
    pub(crate) fn start(&mut self) {
        let pos = self.pos();
        self.code.push(Code { entry: pos, body: pos, end: pos });
    }

    /// The entry label of the current instruction is complete: its body starts here.
    pub(crate) fn start_body(&mut self) {
        let pos = self.pos();
        if let Some(code) = self.code.last_mut() {
            code.body = pos;
        }
    }

    /// Moves the start of the current instruction here: what was emitted before only pads or guards it.
    pub(crate) fn restart(&mut self) {
        let pos = self.pos();
        if let Some(code) = self.code.last_mut() {
            *code = Code { entry: pos, body: pos, end: pos };
        }
    }

    /// Ends the code of the current instruction.
    pub(crate) fn end(&mut self) {
        let pos = self.pos();
        if let Some(code) = self.code.last_mut() {
            code.end = pos;
        }
    }

    /// Records the distance of rsp from the original's, from here on.
    pub(crate) fn set_bias(&mut self, bias: i32) {
        if bias != self.bias {
            self.bias = bias;
            let pos = self.pos();
            self.biases.push((pos, bias));
        }
    }

    /// Appends bytes.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// A relocation whose field starts `back` bytes before the present place.
    pub(crate) fn reloc(&mut self, back: u32, symbol: u32, kind: u32, addend: i64, to_end: i64) {
        let mut pos = self.pos();
        pos.fixed -= back;
        self.relocs.push((pos, CodeReloc { offset: 0, symbol, kind, addend, to_end }));
    }

    /// A 32-bit field relative to the end of its instruction, `back` bytes before the present place, where that instruction ends.
    pub(crate) fn field(&mut self, back: u32, target: Target) {
        let mut pos = self.pos();
        pos.fixed -= back;
        self.fields.push((pos, back, target));
    }

    /// `jmp target`.
    pub(crate) fn jump(&mut self, target: Target) {
        self.piece(Piece::Jump(target));
    }

    /// `jcc target`; `condition` is the low half of the opcode.
    pub(crate) fn conditional(&mut self, condition: u8, target: Target) {
        self.piece(Piece::Conditional(condition, target));
    }

    /// `jrcxz` and its like.
    pub(crate) fn counted(&mut self, prefix: Option<u8>, opcode: u8, target: Target) {
        self.piece(Piece::Counted { prefix, opcode, target });
    }

    /// Padding: see [`Piece::Align`].
    pub(crate) fn align(&mut self, to: u32, limit: u32) {
        self.piece(Piece::Align { to, limit });
    }

    /// `call target`, inside the section.
    pub(crate) fn call(&mut self, target: Target) {
        self.put(&[0xe8, 0, 0, 0, 0]);
        self.field(4, target);
    }

    /// A label to be placed later by [`Emitter::place`].
    pub(crate) fn new_label(&mut self) -> u32 {
        self.made.push(None);
        self.made.len() as u32 - 1
    }

    /// Places a label here.
    pub(crate) fn place(&mut self, label: u32) {
        self.made[label as usize] = Some(self.pos());
    }

    /// Number of the current instruction.
    pub(crate) fn instruction(&self) -> u32 {
        self.code.len() as u32 - 1
    }

    /// What was appended since `start` belongs to instruction `owner`, an earlier one than that of any outlier to come.
    pub(crate) fn outlier(&mut self, owner: u32, start: Pos) {
        self.outliers.push((start, self.pos(), owner));
    }

    fn piece(&mut self, piece: Piece) {
        self.pieces.push((self.bytes.len() as u32, piece));
    }

    fn locate(&self, target: Target) -> Pos {
        match target {
            Target::Body(index) => self.code[index as usize].body,
            Target::Entry(index) => self.code[index as usize].entry,
            Target::Made(label) => {
                self.made[label as usize].expect("every label is placed before the layout")
            }
        }
    }

    /// Gives every piece its size and puts the code together. `starts` are the old offsets of the
    /// instructions in order, with the old size of the section last; each was started, and the end, too.
    pub(crate) fn layout(self, starts: impl Iterator<Item = u32>, old_size: usize) -> Layout {
        // Sizes of the pieces and, by number of pieces before, their sum.
        let mut sizes: Vec<u32> = self.pieces.iter().map(|(_, piece)| piece.smallest()).collect();
        let mut sums = vec![0u32; sizes.len() + 1];
        loop {
            self.sum(&mut sizes, &mut sums);
            let address = |pos: Pos| i64::from(pos.fixed + sums[pos.pieces as usize]);
            let mut grew = false;
            for (number, (at, piece)) in self.pieces.iter().enumerate() {
                let Some(target) = piece.target() else { continue };
                if sizes[number] == piece.smallest() {
                    let end = i64::from(at + sums[number] + sizes[number]);
                    if !SHORT.contains(&(address(self.locate(target)) - end)) {
                        sizes[number] = piece.largest();
                        grew = true;
                    }
                }
            }
            if !grew {
                break;
            }
        }
        self.assemble(&sizes, &sums, starts, old_size)
    }

    fn sum(&self, sizes: &mut [u32], sums: &mut [u32]) {
        let mut sum = 0;
        for (number, (at, piece)) in self.pieces.iter().enumerate() {
            if let Piece::Align { to, limit } = piece {
                let here = at + sum;
                let full = here.next_multiple_of(*to) - here;
                sizes[number] = if full <= *limit { full } else { here.next_multiple_of(8) - here };
            }
            sum += sizes[number];
            sums[number + 1] = sum;
        }
    }

    fn assemble(
        &self,
        sizes: &[u32],
        sums: &[u32],
        starts: impl Iterator<Item = u32>,
        old_size: usize,
    ) -> Layout {
        let address = |pos: Pos| pos.fixed + sums[pos.pieces as usize];
        let mut bytes = Vec::with_capacity(self.bytes.len() + sums[sizes.len()] as usize);
        let mut done = 0;
        for (number, (at, piece)) in self.pieces.iter().enumerate() {
            bytes.extend_from_slice(&self.bytes[done..*at as usize]);
            done = *at as usize;
            let end = at + sums[number] + sizes[number];
            let distance = |target| i64::from(address(self.locate(target))) - i64::from(end);
            piece.encode(sizes[number], distance, &mut bytes);
        }
        bytes.extend_from_slice(&self.bytes[done..]);
        for &(field, to_end, target) in &self.fields {
            let at = address(field) as usize;
            let distance = address(self.locate(target)) as i32 - (at as u32 + to_end) as i32;
            bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        let relocs =
            self.relocs.iter().map(|&(pos, reloc)| CodeReloc { offset: address(pos), ..reloc }).collect();

        let mut map = SectionMap::new(old_size);
        let mut starts = starts.peekable();
        let mut outliers = self.outliers.iter().peekable();
        for (number, code) in self.code.iter().enumerate() {
            let (Some(start), Some(&end)) = (starts.next(), starts.peek()) else { break };
            map.insert(start, end, address(code.entry), address(code.end));
            if code.body != code.entry {
                map.push_body(start, address(code.body));
            }
            while let Some(&(from, to, _)) = outliers.next_if(|outlier| outlier.2 as usize == number) {
                map.push_outlier(Outlier { start: address(from), end: address(to), owner: start });
            }
        }
        for &(pos, bias) in &self.biases {
            map.push_bias(address(pos), bias);
        }
        let end = self.code.last().map_or(0, |end| address(end.entry));
        map.finish(end, bytes.len() as u32);
        Layout { bytes, relocs, map }
    }
}

impl Piece {
    fn target(&self) -> Option<Target> {
        match self {
            Piece::Jump(target) | Piece::Conditional(_, target) | Piece::Counted { target, .. } => {
                Some(*target)
            }
            Piece::Align { .. } => None,
        }
    }

    fn smallest(&self) -> u32 {
        match self {
            Piece::Jump(_) | Piece::Conditional(..) => 2,
            Piece::Counted { prefix, .. } => 2 + u32::from(prefix.is_some()),
            Piece::Align { .. } => 0,
        }
    }

    fn largest(&self) -> u32 {
        match self {
            Piece::Jump(_) => 5,
            Piece::Conditional(..) => 6,
            Piece::Counted { .. } => self.smallest() + 7,
            Piece::Align { .. } => 0,
        }
    }

    /// Appends the piece in `size` bytes; `distance` gives the distance from the piece's end to a target.
    fn encode(&self, size: u32, distance: impl Fn(Target) -> i64, out: &mut Vec<u8>) {
        let short = size == self.smallest();
        match *self {
            Piece::Jump(target) if short => out.extend_from_slice(&[0xeb, distance(target) as u8]),
            Piece::Jump(target) => {
                out.push(0xe9);
                out.extend_from_slice(&(distance(target) as i32).to_le_bytes());
            }
            Piece::Conditional(condition, target) if short => {
                out.extend_from_slice(&[0x70 | condition, distance(target) as u8]);
            }
            Piece::Conditional(condition, target) => {
                out.extend_from_slice(&[0x0f, 0x80 | condition]);
                out.extend_from_slice(&(distance(target) as i32).to_le_bytes());
            }
            Piece::Counted { prefix, opcode, target } => {
                out.extend(prefix);
                if short {
                    out.extend_from_slice(&[opcode, distance(target) as u8]);
                } else {
                    // jrcxz 1f; jmp 2f; 1: jmp target; 2:
                    out.extend_from_slice(&[opcode, 2, 0xeb, 5, 0xe9]);
                    out.extend_from_slice(&(distance(target) as i32).to_le_bytes());
                }
            }
            Piece::Align { .. } => crate::encode::nops(size as usize, out),
        }
    }
}

//! Modules around a few bytes of code, for [`verify`].

use lockgate_abi::PAGE;
use lockgate_verify::{Module, Rejection, Report, Segment, SegmentKind, verify};

/// Image address of the code.
pub const CODE: u64 = 0x1000;
/// One past the image.
pub const IMAGE_END: u64 = 0x20_0000;

/// A module of these segments, whose file begins with what lies at `headers`, and with nothing else in it.
#[must_use]
pub fn module(segments: Vec<Segment>, image_size: u64, headers: u64) -> Module {
    Module {
        segments,
        relocations: vec![],
        exports: vec![],
        data_symbols: vec![],
        imports: vec![],
        sources: vec![],
        image_size,
        program_headers: (headers, 0),
        tls: None,
        strict_bounds: false,
        base: false,
        join: None,
        states: vec![],
        symbols: vec![],
    }
}

/// A module whose page of code is written again and again.
pub struct Text {
    module: Module,
    filled: usize,
}

/// Long and harmless: `movabs $0,%rax`. A page of them is verified sooner than a page of `int3`.
const FILL: [u8; 10] = [0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0];
const TRAP: [u8; 2] = [0x0f, 0x0b];

impl Default for Text {
    fn default() -> Self {
        let segment = |kind, address, size, bytes| Segment { kind, address, size, bytes };
        let constants = CODE + PAGE;
        let data = constants + PAGE;
        let segments = vec![
            segment(SegmentKind::Code, CODE, PAGE, vec![0; PAGE as usize]),
            segment(SegmentKind::Constants, constants, PAGE, vec![0; PAGE as usize]),
            segment(SegmentKind::Data, data, IMAGE_END - data, vec![0; 64]),
        ];
        let mut text = Text { module: module(segments, IMAGE_END, constants), filled: PAGE as usize };
        text.write(&[]);
        text
    }
}

impl Text {
    /// Judges `code` at [`CODE`], followed by something harmless.
    ///
    /// # Errors
    /// The rule that it breaks.
    ///
    /// # Panics
    /// It is longer than half a page.
    pub fn verify(&mut self, code: &[u8]) -> Result<Report, Box<Rejection>> {
        self.write(code);
        verify(&self.module)
    }

    fn write(&mut self, code: &[u8]) {
        assert!(code.len() <= PAGE as usize / 2, "{} bytes of code", code.len());
        let page = &mut self.module.segments[0].bytes;
        // The filling stays where it is: only what the last code took of it is written again.
        let end = self.filled.max(code.len()).next_multiple_of(FILL.len()).min(PAGE as usize);
        page[..code.len()].copy_from_slice(code);
        let start = code.len();
        let whole = start.next_multiple_of(FILL.len()).min(end);
        page[start..whole].fill(0x90);
        for at in (whole..end).step_by(FILL.len()) {
            let end = (at + FILL.len()).min(PAGE as usize);
            page[at..end].copy_from_slice(&FILL[..end - at]);
        }
        let last = PAGE as usize - PAGE as usize % FILL.len();
        page[last..].fill(0xcc);
        page[PAGE as usize - TRAP.len()..].copy_from_slice(&TRAP);
        self.filled = code.len();
    }
}

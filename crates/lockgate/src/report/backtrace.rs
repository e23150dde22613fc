//! Who called whom when a call ended: functions and lines from the fault up to the entry point, and on through the domains
//! that the call was nested in.
//!
//! Nothing is unwound when the call ends: the thread's stacks are copied (`stack_image.rs`), and read when the host asks.
//! Return addresses are on the control stack, which a module cannot write to. Which words there are live, and which are left of calls
//! that have returned, the verifier knows of every instruction (docs/returns.md): frames are exact, whatever the module says of itself.
use super::registers::Registers;
use super::stack_image::StackImage;
use crate::host::stack_sys;
use crate::module::Placed;
use crate::space::Stride;
use crate::walk::{self, Lost, Walk, end_of_walk};
use lockgate_abi::window;
use lockgate_symbols::SourcePlace;
use lockgate_verify::State;
use std::fmt;

/// Most frames of a domain that are shown.
const MOST_FRAMES: usize = 200;

/// A function in progress.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Frame {
    /// Address relative to its module's image: of the instruction in the innermost frame, else where the function goes on.
    pub address: u64,
    /// Function, file and line.
    #[serde(flatten)]
    pub place: SourcePlace,
    /// The compiler put the function's code into its caller's, the next frame.
    pub inlined: bool,
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SourcePlace { function, file, line, .. } = &self.place;
        if !self.inlined {
            return self.place.fmt(f);
        }
        write!(f, "{}", function.as_deref().unwrap_or("?"))?;
        if let (Some(file), Some(line)) = (file, line) {
            write!(f, " at {file}:{line}")?;
        }
        write!(f, ", inlined")
    }
}

/// The functions in progress of one call of a domain, innermost first.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct DomainFrames {
    /// Name of the domain.
    pub domain: String,
    /// Name of its module.
    pub module: String,
    /// What was called from outside.
    pub entry_point: String,
    /// Its frames.
    pub frames: Vec<Frame>,
    /// The frames go up to the entry point; if not, the outer ones are missing.
    pub complete: bool,
}

/// The calls in progress on a thread, innermost first. Host functions that lie between domains are not shown.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct Backtrace {
    /// A call of a domain each.
    pub calls: Vec<DomainFrames>,
}

impl fmt::Display for Backtrace {
    /// A line for each frame, and one for each entry into a domain.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut number = 0;
        for (outer, call) in self.calls.iter().enumerate() {
            if outer > 0 {
                writeln!(f)?;
            }
            for frame in &call.frames {
                writeln!(f, "{number:>4}: {frame}")?;
                number += 1;
            }
            if !call.complete {
                writeln!(f, "      (frames further out were not kept)")?;
            }
            write!(f, "      entered at {}, domain {} ({})", call.entry_point, call.domain, call.module)?;
        }
        Ok(())
    }
}

/// Raw facts of one call of a domain.
pub(crate) struct Entered {
    pub domain: String,
    pub entry_point: String,
    /// Of its window: its module's first.
    images: Vec<Placed>,
    /// `W`.
    window: u64,
    pub registers: Registers,
    /// Of the innermost function, in the state that it is known to be in.
    rsp: u64,
    stack: StackImage,
}

/// What is kept of a call that ended: it, and those that it was nested in.
pub(crate) struct Captured {
    pub call: Entered,
    /// Innermost first.
    pub outer: Vec<Entered>,
}

impl Captured {
    /// Reads the frames.
    pub(crate) fn backtrace(&self) -> Backtrace {
        Backtrace { calls: [&self.call].into_iter().chain(&self.outer).map(Entered::frames).collect() }
    }
}

impl Entered {
    /// A call of `entry_point` in the domain called `domain`, whose images these are, in the window of `stride`. Its stacks are copied next,
    /// from [`rsp`](Entered::rsp) on.
    pub(crate) fn new(
        domain: &str,
        entry_point: &str,
        images: Vec<Placed>,
        stride: &Stride,
        registers: Registers,
    ) -> Entered {
        let mut call = Entered {
            domain: domain.to_owned(),
            entry_point: entry_point.to_owned(),
            images,
            window: stride.base(),
            registers,
            rsp: registers.rsp,
            stack: StackImage::default(),
        };
        if call.opens_frame(stride) {
            call.rsp = registers.r11;
        }
        call
    }

    /// rsp of the innermost function, in the state that it is known to be in.
    pub(crate) fn rsp(&self) -> u64 {
        self.rsp
    }

    /// The same with the stacks as they are now: in `stride`, of `size` bytes, of a call that began with its stack pointer at `entry`.
    pub(crate) fn with_stack(mut self, stride: &Stride, size: u64, entry: u64) -> Entered {
        // A context's frames end with the word that it began with.
        let end = end_of_walk(self.rsp, entry).wrapping_add(8);
        self.stack = StackImage::take(stride, size, self.rsp, end);
        self
    }

    /// Whether the call has ended in a unit that opens a frame, with rsp moved already, perhaps far out of the stack: r11 is what it was.
    fn opens_frame(&self, stride: &Stride) -> bool {
        /// `mov %r11,(%rsp)`, which is legal nowhere else.
        const STORES_FRAME_WORD: [u8; 4] = [0x4c, 0x89, 0x1c, 0x24];
        let mut code = [0; STORES_FRAME_WORD.len()];
        let is_code = !self.after_call() && self.in_image(self.registers.rip).is_some();
        // (The threads of the domain cannot write it.)
        is_code
            && stride.read(self.registers.rip - self.window, &mut code).is_ok()
            && code == STORES_FRAME_WORD
    }

    /// Name of the domain's module.
    pub(crate) fn module(&self) -> &str {
        self.images[0].module.name()
    }

    /// Address relative to the image of the domain's module, if it lies in there or in that of a module that joined.
    pub(crate) fn in_image(&self, address: u64) -> Option<u64> {
        let at = address.checked_sub(self.window + window::IMAGE)?;
        self.image_of(at).map(|_| at)
    }

    /// The image that such an address lies in, and the address relative to that.
    fn image_of(&self, at: u64) -> Option<(&Placed, u64)> {
        let offset = window::IMAGE.checked_add(at)?;
        self.images.iter().find(|image| image.holds(offset)).map(|image| (image, offset - image.at))
    }

    /// Function and line at such an address.
    pub(crate) fn place(&self, at: u64) -> Option<SourcePlace> {
        let (image, own) = self.image_of(at)?;
        Some(image.module.symbols().at(own, stack_sys::left()))
    }

    /// Whether a gate, not an instruction, ended the call: rip is a return address.
    pub(crate) fn after_call(&self) -> bool {
        self.registers.rflags == 0
    }

    /// Where rsp is before the instruction at an address of the window.
    fn state_at(&self, pc: u64) -> Option<State> {
        let (image, own) = self.image_of(self.in_image(pc)?)?;
        match self.after_call() {
            true => image.module.report().frames.at(own),
            false => image.module.code_at(own).and_then(|place| place.state),
        }
    }

    /// The same of where a function goes on.
    fn state_behind_call(&self, site: u64) -> Option<State> {
        let (image, own) = self.image_of(self.in_image(site)?)?;
        image.module.report().frames.at(own)
    }

    /// The innermost function in progress whose line is known, and whose source is not Rust's standard library.
    pub(crate) fn own_source(&self) -> Option<Frame> {
        /// As rustup's std has them, and as Cargo's.
        const STANDARD: [&str; 4] = ["/rustc/", "library/std/", "library/core/", "library/alloc/"];
        let is_own = |file: &str| !STANDARD.iter().any(|folder| file.starts_with(folder));
        let has_line =
            |place: &SourcePlace| place.line.is_some() && place.file.as_deref().is_some_and(is_own);
        self.frames().frames.into_iter().find(|frame| has_line(&frame.place))
    }

    pub(super) fn frames(&self) -> DomainFrames {
        let exit = self.stack.exit();
        let read = |at: u64| self.stack.word(at);
        let mut frames = self.named(self.registers.rip, self.after_call());
        let mut complete = false;
        if let Some(entry) = self.innermost(exit, read) {
            let mut walk = Walk::new(entry, exit, read, |site| self.state_behind_call(site));
            for _ in 0..MOST_FRAMES {
                match walk.next() {
                    Ok(caller) => frames.extend(self.named(caller.site, true)),
                    Err(lost) => {
                        complete = lost == Lost::Exit;
                        break;
                    }
                }
            }
        }
        DomainFrames {
            domain: self.domain.clone(),
            module: self.module().to_owned(),
            entry_point: self.entry_point.clone(),
            frames,
            complete,
        }
    }

    /// Where the return word of the innermost function lies.
    fn innermost(&self, exit: u64, read: impl Fn(u64) -> Option<u64>) -> Option<u64> {
        let rip = self.registers.rip;
        let Some(state) = self.state_at(rip) else {
            // The runtime's thunks leave rsp where it is.
            let is_window_thunk = (window::THUNKS..window::IMAGE).contains(&rip.wrapping_sub(self.window));
            return is_window_thunk.then_some(self.rsp);
        };
        walk::entry(state, self.rsp, exit, read)
    }

    /// The function that has come to `pc` by names, with what was inlined in it. Nothing outside of the images has any.
    fn named(&self, pc: u64, after_call: bool) -> Vec<Frame> {
        let Some(address) = self.in_image(pc) else { return Vec::new() };
        // Behind a call, the instruction is the one before.
        let instruction = if after_call { address.saturating_sub(1) } else { address };
        let Some((image, own)) = self.image_of(instruction) else { return Vec::new() };
        let mut places = image.module.symbols().frames(own, stack_sys::left());
        let start = instruction - own;
        if let Some(whole) = places.last_mut() {
            whole.offset += address - instruction;
        }
        let outermost = places.len() - 1;
        let frame = |(depth, place)| Frame { address: address - start, place, inlined: depth < outermost };
        places.into_iter().enumerate().map(frame).collect()
    }
}

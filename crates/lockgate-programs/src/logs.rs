//! What programs write: read from pipes by one thread, cut into lines, kept for a while. Memory is bounded whatever they write: a line has an
//! end, and so has what is kept of a program.

use lockgate_kernel::locked;
use rustix::buffer::spare_capacity;
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::{Errno, ioctl_fionread};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// Bytes of a line. A longer one comes in pieces, each as a line.
pub const LINE: usize = 8 << 10;

/// Bytes that are kept of what a program wrote last.
pub const TAIL: usize = 64 << 10;

/// Bytes that are read at once, from one stream before the next has its turn.
const TURN: usize = 16 << 10;

/// Streams that are read before orders have their turn.
const AT_ONCE: usize = 64;

/// What [`Logs::ring`] is known by, where a source is by its number.
const WAKE: u64 = u64::MAX;

/// Bytes that a line costs in memory, beside its own.
const LINE_COST: usize = 64;

/// One of a program's outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Error,
}

/// A line that a program wrote, without its end. Any bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Where it wrote it.
    pub stream: Stream,
    /// The bytes of it.
    pub bytes: Vec<u8>,
}

/// The last lines of each program.
pub type Tails = Arc<Mutex<Kept>>;

/// What is kept.
#[derive(Debug, Default)]
pub struct Kept {
    programs: Vec<Tail>,
    /// Lines so far.
    count: u64,
}

/// The last lines of one program, each with its number among all.
#[derive(Debug, Default)]
struct Tail {
    lines: VecDeque<(u64, Line)>,
    bytes: usize,
    written: Volume,
}

/// How much a program has written, in all its runs.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Volume {
    /// Lines.
    pub lines: u64,
    /// Bytes of them, without their ends.
    pub bytes: u64,
}

impl Kept {
    fn push(&mut self, program: usize, line: Line) {
        if self.programs.len() <= program {
            self.programs.resize_with(program + 1, Tail::default);
        }
        let tail = &mut self.programs[program];
        tail.bytes += line.bytes.len() + LINE_COST;
        tail.written.lines += 1;
        tail.written.bytes += line.bytes.len() as u64;
        tail.lines.push_back((self.count, line));
        self.count += 1;
        while tail.bytes > TAIL {
            let Some((_, first)) = tail.lines.pop_front() else { break };
            tail.bytes -= first.bytes.len() + LINE_COST;
        }
    }

    /// How much a program has written.
    pub fn written(&self, program: usize) -> Volume {
        self.programs.get(program).map_or(Volume::default(), |tail| tail.written)
    }

    /// Those of these programs, in the order in which they came.
    pub fn lines(&self, programs: &[usize]) -> Vec<(usize, Line)> {
        let of = |&program: &usize| {
            let tail = self.programs.get(program).into_iter();
            tail.flat_map(|tail| &tail.lines).map(move |(number, line)| (*number, program, line.clone()))
        };
        let mut all: Vec<_> = programs.iter().flat_map(of).collect();
        all.sort_by_key(|(number, ..)| *number);
        all.into_iter().map(|(_, program, line)| (program, line)).collect()
    }
}

/// What the thread is asked for.
enum Order {
    /// Read this stream of a program's run, which the kernel reports by this number.
    Read(u64, Source),
    /// The run has ended: read what there is, and say so.
    Finish { program: usize, life: u64, done: Sender<()> },
}

/// A stream of one run of a program.
struct Source {
    program: usize,
    life: u64,
    stream: Stream,
    pipe: OwnedFd,
    /// The beginning of a line.
    begun: Vec<u8>,
    is_over: bool,
}

/// Where lines go: program, its run, line.
pub type Sink<'a> = dyn FnMut(usize, u64, &Line) + Send + 'a;

/// The side of those who run programs. The thread ends with the last copy.
#[derive(Clone)]
pub struct Logs {
    orders: Sender<Order>,
    /// Ends a wait.
    wake: Arc<OwnedFd>,
    epoll: Arc<OwnedFd>,
    /// Streams so far.
    count: Arc<AtomicU64>,
}

/// The side of the thread.
pub struct Reader {
    orders: Receiver<Order>,
    wake: Arc<OwnedFd>,
    /// Says which have something: there may be thousands, and nearly all of them are silent.
    epoll: Arc<OwnedFd>,
    sources: BTreeMap<u64, Source>,
    tails: Tails,
}

/// Both sides, and what is kept.
///
/// # Errors
/// No descriptor is free.
pub fn logs() -> io::Result<(Logs, Reader, Tails)> {
    let (sender, orders) = channel();
    let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let epoll = Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC)?);
    epoll::add(&*epoll, &*wake, epoll::EventData::new_u64(WAKE), epoll::EventFlags::IN)?;
    let tails = Tails::default();
    let sources = BTreeMap::new();
    let reader = Reader { orders, wake: wake.clone(), epoll: epoll.clone(), sources, tails: tails.clone() };
    Ok((Logs { orders: sender, wake, epoll, count: Arc::default() }, reader, tails))
}

impl Logs {
    /// Reads a stream from now on: the end of a pipe that its program writes to.
    ///
    /// # Errors
    /// The kernel's.
    pub fn read(&self, program: usize, life: u64, stream: Stream, pipe: OwnedFd) -> io::Result<()> {
        // Of this end only: a description of its own.
        fcntl_setfl(&pipe, OFlags::NONBLOCK)?;
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        epoll::add(&*self.epoll, &pipe, epoll::EventData::new_u64(number), epoll::EventFlags::IN)?;
        let source = Source { program, life, stream, pipe, begun: Vec::new(), is_over: false };
        self.order(Order::Read(number, source));
        Ok(())
    }

    /// Returns when all lines of a run that has ended have gone where lines go.
    pub fn finish(&self, program: usize, life: u64) {
        let (done, is_done) = channel();
        self.order(Order::Finish { program, life, done });
        let _ = is_done.recv();
    }

    fn order(&self, order: Order) {
        // Where the thread is gone there is no reader.
        let _ = self.orders.send(order);
        self.ring();
    }

    fn ring(&self) {
        let _ = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        // The thread looks whether this was the last.
        drop(std::mem::replace(&mut self.orders, channel().0));
        self.ring();
    }
}

impl Reader {
    /// Reads until no handle is left that could ask for it.
    pub fn serve(mut self, sink: &mut Sink<'_>) {
        let mut events = Vec::with_capacity(AT_ONCE);
        loop {
            events.clear();
            // (Interrupted, it looks in vain.)
            let _ = epoll::wait(&self.epoll, spare_capacity(&mut events), None);
            // A turn for each: one that writes without end does not keep others from being read, since the kernel lists it behind them next time.
            for event in &events {
                match event.data.u64() {
                    WAKE => drop(rustix::io::read(&*self.wake, &mut [0_u8; 8])),
                    source => self.read(source, sink),
                }
            }
            loop {
                match self.orders.try_recv() {
                    Ok(Order::Read(number, source)) => drop(self.sources.insert(number, source)),
                    Ok(Order::Finish { program, life, done }) => {
                        self.finish(program, life, sink);
                        let _ = done.send(());
                    }
                    Err(std::sync::mpsc::TryRecvError::Empty) => break,
                    Err(std::sync::mpsc::TryRecvError::Disconnected) => return,
                }
            }
        }
    }

    fn read(&mut self, number: u64, sink: &mut Sink<'_>) {
        // (The order to read it may be on its way.)
        let Some(source) = self.sources.get_mut(&number) else { return };
        source.turn(&self.tails, sink);
        if source.is_over {
            source.leave(&self.epoll);
            self.sources.remove(&number);
        }
    }

    /// Everything that a run has written. It writes no more, but others may that were given its streams: they are not read to their end.
    fn finish(&mut self, program: usize, life: u64, sink: &mut Sink<'_>) {
        let epoll = &self.epoll;
        self.sources.retain(|_, source| {
            let is_his = (source.program, source.life) == (program, life);
            if is_his {
                let mut left = ioctl_fionread(&source.pipe).unwrap_or_default();
                while left > 0 {
                    match source.turn(&self.tails, sink) {
                        0 => break,
                        count => left = left.saturating_sub(count as u64),
                    }
                }
                source.end(&self.tails, sink);
                source.leave(epoll);
            }
            !is_his
        });
    }
}

impl Source {
    /// Reads once; how many bytes there were.
    fn turn(&mut self, tails: &Tails, sink: &mut Sink<'_>) -> usize {
        let mut bytes = [0; TURN];
        match rustix::io::read(self.pipe.as_fd(), &mut bytes) {
            Ok(0) => self.end(tails, sink),
            Ok(count) => {
                self.take(&bytes[..count], tails, sink);
                return count;
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.end(tails, sink),
        }
        0
    }

    fn take(&mut self, mut bytes: &[u8], tails: &Tails, sink: &mut Sink<'_>) {
        while !bytes.is_empty() {
            let room = &bytes[..bytes.len().min(LINE - self.begun.len())];
            match room.iter().position(|byte| *byte == b'\n') {
                Some(end) => {
                    self.begun.extend(&room[..end]);
                    bytes = &bytes[end + 1..];
                    self.emit(tails, sink);
                }
                None => {
                    self.begun.extend(room);
                    bytes = &bytes[room.len()..];
                    if self.begun.len() == LINE {
                        self.emit(tails, sink);
                    }
                }
            }
        }
    }

    fn end(&mut self, tails: &Tails, sink: &mut Sink<'_>) {
        self.is_over = true;
        if !self.begun.is_empty() {
            self.emit(tails, sink);
        }
    }

    /// Nothing is heard of it any more, though a copy of the descriptor may be open, in a forked child.
    fn leave(&self, epoll: &OwnedFd) {
        let _ = epoll::delete(epoll, &self.pipe);
    }

    fn emit(&mut self, tails: &Tails, sink: &mut Sink<'_>) {
        let line = Line { stream: self.stream, bytes: std::mem::take(&mut self.begun) };
        sink(self.program, self.life, &line);
        locked(tails).push(self.program, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// What two runs write, as lines.
    fn lines(write: impl FnOnce(&mut std::fs::File)) -> (Vec<Line>, Tails) {
        let (logs, reader, tails) = logs().unwrap();
        let (out, pipe) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        logs.read(0, 1, Stream::Out, out).unwrap();
        let mut lines = Vec::new();
        std::thread::scope(|scope| {
            let lines = &mut lines;
            scope.spawn(move || reader.serve(&mut |_, _, line: &Line| lines.push(line.clone())));
            let mut pipe = std::fs::File::from(pipe);
            write(&mut pipe);
            logs.finish(0, 1);
            drop(logs);
        });
        (lines, tails)
    }

    fn out(bytes: &[u8]) -> Line {
        Line { stream: Stream::Out, bytes: bytes.to_vec() }
    }

    /// The pipe's other end is open still: a run that has ended is over all the same.
    #[test]
    fn lines_come_whole_and_the_last_one_without_its_end() {
        let (lines, _) = lines(|pipe| {
            for piece in ["one", "\ntwo\n", "\nthr", "ee"] {
                pipe.write_all(piece.as_bytes()).unwrap();
            }
        });
        assert_eq!(lines, [out(b"one"), out(b"two"), out(b""), out(b"three")]);
    }

    /// One that was given the stream writes a line for each that is read: it keeps no other program from being heard.
    #[test]
    fn a_run_that_has_ended_is_over_though_others_write() {
        let (out, mut other) = std::io::pipe().unwrap();
        let (logs, reader, _) = logs().unwrap();
        logs.read(0, 1, Stream::Out, OwnedFd::from(out)).unwrap();
        other.write_all(b"one\n").unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || reader.serve(&mut |_, _, _: &Line| other.write_all(b"another\n").unwrap()));
            logs.finish(0, 1);
            drop(logs);
        });
    }

    #[test]
    fn a_line_without_end_comes_in_pieces_and_what_is_kept_has_an_end() {
        let (lines, tails) = lines(|pipe| pipe.write_all(&[b'x'; 100 * LINE + 1]).unwrap());
        assert_eq!(lines.len(), 101);
        assert!(lines[..100].iter().all(|line| line.bytes.len() == LINE));
        let kept = tails.lock().unwrap().lines(&[0]);
        assert_eq!(kept.last().map(|(_, line)| line), lines.last());
        assert!(kept.iter().map(|(_, line)| line.bytes.len()).sum::<usize>() <= TAIL);
    }

    #[test]
    fn many_empty_lines_are_not_kept_for_nothing() {
        let (_, tails) = lines(|pipe| pipe.write_all(&[b'\n'; 100_000]).unwrap());
        assert!(tails.lock().unwrap().lines(&[0]).len() <= TAIL / LINE_COST);
    }
}

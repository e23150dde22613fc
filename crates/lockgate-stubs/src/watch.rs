//! What reading a header may take: libclang and the compiler's language have no limits, and a header may be an attacker's.
use std::process::Child;
use std::time::Duration;

/// CPU time, seconds. The largest headers that there are take a few.
const PROCESSOR: f64 = 30.0;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// A reader that has slept so long, and done nothing, waits for a file without a writer.
const IDLE: Duration = Duration::from_secs(10);

/// The looks in a row that this is. (They are counted, and no time is taken: where others have the processors, or all of it was stopped, a time
/// would be over before anything was done.)
const LOOKS: u32 = (IDLE.as_millis() / PAUSE.as_millis()) as u32;

/// Memory, bytes.
const MEMORY: u64 = 4 << 30;

/// Waits for the end of `reader`, which reads a header, and ends it when that takes more than anything that is worth it: within
/// libclang is not asked.
///
/// # Errors
/// Why it was ended, or that it ended by a signal, in words.
pub fn wait(reader: &mut Child) -> Result<u8, String> {
    let mut watch = Watch::default();
    loop {
        if let Some(status) = reader.try_wait().map_err(|error| error.to_string())? {
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            return code.ok_or_else(|| format!("the compiler's library that reads it has failed ({status})"));
        }
        let (asleep, used) = state(reader.id()).unwrap_or((false, watch.used));
        if let Some(why) = watch.look(asleep, used, memory(reader.id()).unwrap_or(0)) {
            let _ = reader.kill();
            let _ = reader.wait();
            return Err(why);
        }
        std::thread::sleep(PAUSE);
    }
}

#[derive(Default)]
struct Watch {
    /// At the last look, seconds of CPU time.
    used: f64,
    idle: u32,
}

impl Watch {
    /// Why the reader is to end, if it is.
    fn look(&mut self, asleep: bool, used: f64, memory: u64) -> Option<String> {
        self.idle = if asleep && used <= self.used { self.idle + 1 } else { 0 };
        self.used = used;
        if used > PROCESSOR {
            Some(format!("it takes more than {PROCESSOR} seconds of CPU time"))
        } else if memory > MEMORY {
            Some(format!("it takes more than {} GiB of memory", MEMORY >> 30))
        } else if self.idle > LOOKS {
            Some(
                "it includes a file that cannot be read to its end, such as a FIFO without a writer"
                    .to_owned(),
            )
        } else {
            None
        }
    }
}

/// Whether a process sleeps, and the seconds of CPU time that it has used.
fn state(process: u32) -> Option<(bool, f64)> {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Behind the program's name; times in hundredths, whatever the kernel counts by.
    let mut fields = status.rsplit(')').next()?.split_ascii_whitespace();
    let asleep = matches!(fields.next()?, "S" | "D");
    let mut fields = fields.skip(10);
    let mut field = || fields.next()?.parse::<u64>().ok();
    Some((asleep, (field()? + field()?) as f64 / 100.0))
}

/// Bytes of memory that it has.
fn memory(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    Some(status.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()? * 4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine whose processors others have, or a command that was stopped and goes on.
    #[test]
    fn who_does_not_get_his_turn_waits_for_nothing() {
        let mut watch = Watch { used: 0.01, idle: 0 };
        for _ in 0..3 * LOOKS {
            assert_eq!(watch.look(false, 0.01, 0), None);
        }
        for _ in 0..LOOKS {
            assert_eq!(watch.look(true, 0.01, 0), None);
        }
        assert!(watch.look(true, 0.01, 0).is_some_and(|why| why.contains("FIFO")));
        assert_eq!(watch.look(true, 0.02, 0), None, "it has done something");
        assert!(watch.look(true, 31.0, 0).is_some_and(|why| why.contains("CPU")));
        assert!(watch.look(true, 1.0, 5 << 30).is_some_and(|why| why.contains("memory")));
    }

    #[test]
    fn a_process_that_waits_sleeps() {
        let mut waits =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        while !state(waits.id()).is_some_and(|(asleep, _)| asleep) {
            assert!(waits.try_wait().unwrap().is_none(), "it waits for its input");
        }
        drop(waits.stdin.take());
        waits.wait().unwrap();
    }
}

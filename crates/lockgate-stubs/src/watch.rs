//! What reading a header may take: libclang and the compiler's language have no limits, and a header may be anybody's.
use std::process::Child;
use std::time::{Duration, Instant};

/// CPU time, seconds. The largest headers that there are take a few.
const PROCESSOR: f64 = 30.0;

/// Time in which nothing is done: who waits so long waits for a file that nobody writes.
const IDLE: Duration = Duration::from_secs(10);

/// Memory, bytes.
const MEMORY: u64 = 4 << 30;

/// Waits for the end of `reader`, which reads a header, and ends it when that takes more than anything that is worth it: within
/// libclang nobody asks.
///
/// # Errors
/// Why it was ended, or that it ended by a signal, in words.
pub fn wait(reader: &mut Child) -> Result<u8, String> {
    let mut last = (0.0, Instant::now());
    loop {
        if let Some(status) = reader.try_wait().map_err(|error| error.to_string())? {
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            return code.ok_or_else(|| format!("the compiler's library that reads it has failed ({status})"));
        }
        let (used, memory) = (processor(reader.id()).unwrap_or(0.0), memory(reader.id()).unwrap_or(0));
        if used > last.0 {
            last = (used, Instant::now());
        }
        let why = if used > PROCESSOR {
            format!("it takes more than {PROCESSOR} seconds of CPU time")
        } else if memory > MEMORY {
            format!("it takes more than {} GiB of memory", MEMORY >> 30)
        } else if last.1.elapsed() > IDLE {
            "it includes a file that cannot be read to its end, such as a FIFO that nobody writes to"
                .to_owned()
        } else {
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        let _ = reader.kill();
        let _ = reader.wait();
        return Err(why);
    }
}

/// Seconds of CPU time that a process has used.
fn processor(process: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Behind the program's name; in hundredths, whatever the kernel counts by.
    let mut fields = status.rsplit(')').next()?.split_ascii_whitespace().skip(11);
    let mut field = || fields.next()?.parse::<u64>().ok();
    Some((field()? + field()?) as f64 / 100.0)
}

/// Bytes of memory that it has.
fn memory(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    Some(status.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()? * 4096)
}

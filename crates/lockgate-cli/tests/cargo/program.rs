//! A program: what std has, with the same output in a domain and outside.
use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::panic::{catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, RwLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

static DROPS: AtomicU32 = AtomicU32::new(0);

struct Noisy(u32);

impl Drop for Noisy {
    fn drop(&mut self) {
        DROPS.fetch_add(self.0, Ordering::SeqCst);
    }
}

thread_local! {
    static NOISY: RefCell<Option<Noisy>> = const { RefCell::new(None) };
    static TEXT: RefCell<String> = RefCell::new("own".to_owned());
}

fn threads() {
    let named = |number| {
        let builder = thread::Builder::new().name(format!("worker {number}"));
        builder.spawn(move || {
            NOISY.with(|noisy| *noisy.borrow_mut() = Some(Noisy(number)));
            TEXT.with(|text| text.borrow_mut().push_str("ed"));
            thread::current().name().unwrap().to_owned() + &TEXT.with(|text| text.borrow().clone())
        })
    };
    let workers: Vec<_> = (1..=4).map(|number| named(number).unwrap()).collect();
    let names: Vec<String> = workers.into_iter().map(|worker| worker.join().unwrap()).collect();
    println!("{names:?}, drops {}", DROPS.load(Ordering::SeqCst));
    let (sender, receiver) = mpsc::channel();
    let total = Mutex::new(0);
    thread::scope(|scope| {
        for number in 0..3 {
            let (sender, total) = (sender.clone(), &total);
            scope.spawn(move || {
                *total.lock().unwrap() += number;
                sender.send(number * 2).unwrap();
            });
        }
    });
    drop(sender);
    let mut got: Vec<u64> = receiver.iter().collect();
    got.sort_unstable();
    println!("{got:?} {}", total.lock().unwrap());
    let pair = Arc::new((Mutex::new(false), Condvar::new(), Barrier::new(2)));
    let other = pair.clone();
    let waker = thread::spawn(move || {
        *other.0.lock().unwrap() = true;
        other.1.notify_one();
        other.2.wait();
    });
    drop(pair.1.wait_while(pair.0.lock().unwrap(), |ready| !*ready).unwrap());
    pair.2.wait();
    waker.join().unwrap();
    let map = RwLock::new(BTreeMap::from([(1, "a")]));
    map.write().unwrap().insert(2, "b");
    println!("{:?}", map.read().unwrap());
}

fn files(folder: &str) {
    let (first, second) = (format!("{folder}/a.txt"), format!("{folder}/b.txt"));
    fs::write(&first, "hello\n").unwrap();
    writeln!(OpenOptions::new().append(true).open(&first).unwrap(), "more").unwrap();
    let mut text = String::new();
    File::open(&first).unwrap().read_to_string(&mut text).unwrap();
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    println!("{text:?} {names:?} {}", fs::metadata(&first).unwrap().len());
    fs::rename(&first, &second).unwrap();
    fs::remove_file(&second).unwrap();
    println!("{:?}", fs::read(&first).map_err(|error| error.kind()));
}

fn panics() {
    std::panic::set_hook(Box::new(|info| println!("hook: {info}")));
    let index = std::env::args().count() + 10;
    let caught = catch_unwind(|| {
        let _noisy = Noisy(1000);
        vec![1, 2, 3][index]
    });
    println!("{}, drops {}", caught.is_err(), DROPS.load(Ordering::SeqCst));
    let again = catch_unwind(|| {
        let _noisy = Noisy(10000);
        let text = catch_unwind(|| panic!("a {}", "text")).unwrap_err();
        resume_unwind(text)
    });
    let text = again.map(|()| String::new()).unwrap_err().downcast::<String>();
    println!("{text:?}, drops {}", DROPS.load(Ordering::SeqCst));
    let joined = thread::spawn(|| panic!("in a thread")).join();
    println!("{:?}", joined.unwrap_err().downcast::<&str>());
    let poisoned = Mutex::new(1);
    let _ = catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _guard = poisoned.lock();
        panic!("with the lock");
    }));
    println!("poisoned {}", poisoned.is_poisoned());
    fn deep(depth: u32) -> u32 {
        let noisy = Noisy(0);
        if depth == 0 { panic!("deep") } else { deep(depth - 1) + noisy.0 }
    }
    println!("{}", catch_unwind(|| deep(1000)).is_err());
}

/// The program's own functions in progress, with file and line, wherever the file lies.
#[inline(never)]
fn in_progress() -> Vec<String> {
    let text = Backtrace::force_capture().to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let pairs = lines.windows(2).filter(|pair| pair[0].contains(": program::"));
    pairs.map(|pair| format!("{} {}", pair[0], pair[1].rsplit('/').next().unwrap())).collect()
}

struct Generic<T>(T);

impl<T: Fn() -> Vec<String>> Generic<T> {
    #[inline(always)]
    fn inlined(&self) -> Vec<String> {
        (self.0)()
    }
}

fn backtraces() {
    let functions = Generic(|| in_progress()).inlined();
    assert!(functions.len() >= 4, "{functions:?}");
    println!("{functions:#?}");
    println!("{:#?}", thread::spawn(in_progress).join().unwrap());
}

fn main() {
    println!("{:?}", std::env::args().skip(2).collect::<Vec<_>>());
    threads();
    files(&std::env::args().nth(1).unwrap());
    panics();
    backtraces();
    let start = Instant::now();
    thread::sleep(Duration::from_millis(5));
    println!("{}", start.elapsed() >= Duration::from_millis(5));
    let roots: HashMap<i32, f64> = (0..10).map(|number| (number, f64::from(number).sqrt())).collect();
    // (Rust's library has these two; what they take of the processor is asked for when they run.)
    println!("{:.4} {:?} {:?}", roots[&2].cbrt(), roots[&2].mul_add(1.7, -2.4), (roots[&2] as f32).mul_add(1.7, -2.4));
    println!("{:.4} {} {:?}", roots[&2], i128::MAX / 7, "ß".to_uppercase());
    std::process::exit(7);
}

#[cfg(test)]
mod tests {
    #[test]
    fn passes() {
        assert_eq!(2 + 2, 4);
    }

    /// In the package's folder, by both names, and for reading only.
    #[test]
    fn data() {
        assert!(std::fs::read_to_string("Cargo.toml").unwrap().contains("[package]"));
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(std::env::current_dir().unwrap(), folder);
        assert!(folder.join("src/main.rs").exists());
        assert!(std::fs::write(folder.join("written"), "").is_err() || cfg!(not(target_env = "musl")));
    }

    #[test]
    fn fails() {
        assert_eq!(2 + 2, 5, "arithmetic");
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn panics() {
        let none: Vec<u8> = Vec::new();
        println!("{}", none[std::env::args().count()]);
    }

    #[test]
    #[ignore = "never"]
    fn ignored() {}
}

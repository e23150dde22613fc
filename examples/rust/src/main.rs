//! A program with a plugin that it does not trust:
//!
//!     lockgate cc -g -O2 -shared settings.c -o settings.lg
//!     cargo run -- settings.lg "width = 3
//!     height = 4"
use lockgate::{CallError, Domain, DomainOptions, HostFunction, Module, Pointer};
use std::error::Error;
use std::ffi::CString;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the plugin exports.
type ReadSettings = extern "C" fn(Pointer<u8>, Pointer<u8>) -> i32;

/// Most settings that the program takes: the plugin may find as many as it likes.
const MOST: usize = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let [module, texts @ ..] = &*std::env::args().skip(1).collect::<Vec<_>>() else {
        return Err("usage: lockgate-example MODULE TEXT...".into());
    };
    let module = Module::open(module)?; // verified once, here
    let options =
        DomainOptions::new().name("settings").memory_limit(16 << 20).time_limit(Duration::from_millis(500));
    let mut domain = Domain::new(&module, options)?;
    for text in texts {
        match read(&domain, text) {
            Ok(settings) => println!("{settings:?}"),
            Err(error) => {
                // The call is over, the program is not. What the plugin has made of its own memory, nobody knows.
                println!("{error}");
                domain.reset()?;
            }
        }
    }
    Ok(())
}

/// Has the plugin read `text`: names and numbers.
fn read(domain: &Domain, text: &str) -> Result<Vec<(String, i64)>, Box<dyn Error>> {
    let found: Arc<Mutex<Vec<(String, i64)>>> = Arc::default();
    let collects = found.clone();
    // The plugin calls this one. What it passes is its own idea: each access is checked.
    let on_setting =
        HostFunction::new(move |plugin: &Domain, name: Pointer<u8>, length: u64, number: i64| -> i32 {
            let length = length.min(64) as usize;
            let Ok(name) = plugin.read_slice(name, length) else { return 1 };
            let name = name.check(|name| name.is_ascii());
            let mut found = collects.lock().expect("nobody panics with it");
            match name {
                Some(name) if found.len() < MOST => {
                    found.push((String::from_utf8_lossy(&name).into_owned(), number));
                    0
                }
                _ => 1,
            }
        });
    let callback = domain.callback(on_setting).ok_or("no callback left")?;
    let read_settings = domain.bind::<ReadSettings>("read_settings")?;
    // The plugin reaches its own memory only.
    let inside = domain.alloc_string(&CString::new(text)?)?;
    let called: Result<i32, CallError> = read_settings.call(inside, callback.pointer());
    called?;
    domain.free(inside)?;
    let found = std::mem::take(&mut *found.lock().expect("nobody panics with it"));
    Ok(found)
}

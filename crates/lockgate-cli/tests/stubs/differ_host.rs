//! The program in Rust of tests/differ.rs.
#![forbid(unsafe_code)]
#![allow(warnings)]
use df_protected::*;
use std::ffi::CStr;

fn show(text: impl std::fmt::Display) {
    print!(" {text}");
}

fn show_number(value: impl std::fmt::Display) {
    show(value);
}

fn show_float(value: f64) {
    if value.is_nan() { show("nan") } else { print!(" {:016x}", value.to_bits()) }
}

fn show_text(text: Option<Text>) {
    match text {
        None => show("null"),
        Some(text) => {
            let bytes: String = text.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            print!(" \"{bytes}\"");
        }
    }
}

fn show_string(text: Option<&CStr>) {
    match text {
        None => show("null"),
        Some(text) => {
            let bytes: String = text.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            print!(" \"{bytes}\"");
        }
    }
}

fn show_box(is_there: bool) {
    show(if is_there { "box" } else { "null" });
}

fn show_place(place: Option<usize>) {
    match place {
        None => show("null"),
        Some(place) => show(place),
    }
}

fn open<T>(opened: Result<Option<T>, Error>) -> Option<T> {
    match opened {
        Ok(opened) => {
            show_box(opened.is_some());
            opened
        }
        Err(error) => {
            show_error(&error);
            None
        }
    }
}

fn close(closed: Option<Result<i32, Error>>) {
    match closed {
        None => {}
        Some(Ok(result)) => show_number(result),
        Some(Err(error)) => show_error(&error),
    }
}

fn show_error(error: &Error) {
    print!(" E {:?}", error.kind);
}

fn a_text(n: i32) -> std::ffi::CString {
    let texts = ["", "text", "\u{e4}", "a somewhat longer text, and no end of it"];
    std::ffi::CString::new(texts[n as usize % 4]).unwrap()
}

fn run(seed: u64, calls: &[fn(i32)]) {
    let answers: i32 = std::env::args().nth(1).unwrap().parse().unwrap();
    for n in 0..answers {
        for (place, call) in calls.iter().enumerate() {
            df_seed(seed.wrapping_mul(1000003).wrapping_add(n as u64 * 1009 + place as u64)).unwrap();
            print!("{seed} {place} {n}");
            call(n);
            println!(" .");
        }
    }
}

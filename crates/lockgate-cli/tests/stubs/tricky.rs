//! tricky: made by `lockgate stubs`, do not edit.
#![allow(unused_imports, dead_code, non_snake_case, missing_docs)]
use lockgate::{BindError, Domain, Function, Pointer, Tainted};

/// What handles of `struct thing` point to.
#[derive(Debug)]
pub enum Thing {}

lockgate::structure! {
    /// `struct point`
    pub struct Point {
        /// Field `x`.
        pub x: i32,
        /// Field `y`.
        pub y: i32,
    }
}

/// The functions of one domain.
pub struct Tricky {
    /// `tricky_mode`
    pub tricky_mode: Function<extern "C" fn(i32)>,
    /// `tricky_sum`
    pub tricky_sum: Function<extern "C" fn(Pointer<i32>, i32) -> Tainted<i64>>,
    /// `tricky_fill`
    pub tricky_fill: Function<extern "C" fn(Pointer<i8>, i32) -> Tainted<i32>>,
    /// `tricky_grow`
    pub tricky_grow: Function<extern "C" fn(Pointer<i8>, Pointer<u64>) -> Tainted<i32>>,
    /// `tricky_text`
    pub tricky_text: Function<extern "C" fn(i32) -> Tainted<Pointer<i8>>>,
    /// `tricky_open`
    pub tricky_open: Function<extern "C" fn(i32) -> Tainted<Pointer<Thing>>>,
    /// `tricky_value`
    pub tricky_value: Function<extern "C" fn(Pointer<Thing>) -> Tainted<i32>>,
    /// `tricky_replace`
    pub tricky_replace: Function<extern "C" fn(Pointer<Pointer<Thing>>) -> Tainted<i32>>,
    /// `tricky_close`
    pub tricky_close: Function<extern "C" fn(Pointer<Thing>)>,
    /// `tricky_set`
    pub tricky_set: Function<extern "C" fn(Pointer<u8>) -> Tainted<Pointer<u8>>>,
    /// `tricky_call`
    pub tricky_call: Function<extern "C" fn(Pointer<u8>, Pointer<u8>) -> Tainted<i32>>,
    /// `tricky_data`
    pub tricky_data: Function<extern "C" fn() -> Tainted<Pointer<u8>>>,
    /// `tricky_mirror`
    pub tricky_mirror: Function<extern "C" fn(Point, i32) -> Tainted<Point>>,
    /// `tricky_halve`
    pub tricky_halve: Function<extern "C" fn(Pointer<u8>)>,
    /// `tricky_named`
    pub tricky_named: Function<extern "C" fn(Pointer<u8>, Pointer<Point>) -> Tainted<f64>>,
    /// `tricky_show`
    pub tricky_show: Function<extern "C" fn() -> Tainted<Pointer<u8>>>,
    /// `tricky_matrix`
    pub tricky_matrix: Function<extern "C" fn(Pointer<f64>, i64, i64) -> Tainted<f64>>,
    /// `tricky_find`
    pub tricky_find: Function<extern "C" fn(Pointer<i8>, i32) -> Tainted<Pointer<i8>>>,
    /// `tricky_open_file`
    pub tricky_open_file: Function<extern "C" fn(Pointer<i8>) -> Tainted<i32>>,
    /// `tricky_crash`
    pub tricky_crash: Function<extern "C" fn(Pointer<i32>) -> Tainted<i32>>,
    /// `tricky_loop`
    pub tricky_loop: Function<extern "C" fn() -> Tainted<i32>>,
    /// `tricky_count`
    pub tricky_count: Function<extern "C" fn(u8) -> Tainted<f32>>,
}

impl Tricky {
    /// Binds all of them.
    pub fn bind(domain: &Domain) -> Result<Self, BindError> {
        Ok(Tricky {
            tricky_mode: domain.bind("tricky_mode")?,
            tricky_sum: domain.bind("tricky_sum")?,
            tricky_fill: domain.bind("tricky_fill")?,
            tricky_grow: domain.bind("tricky_grow")?,
            tricky_text: domain.bind("tricky_text")?,
            tricky_open: domain.bind("tricky_open")?,
            tricky_value: domain.bind("tricky_value")?,
            tricky_replace: domain.bind("tricky_replace")?,
            tricky_close: domain.bind("tricky_close")?,
            tricky_set: domain.bind("tricky_set")?,
            tricky_call: domain.bind("tricky_call")?,
            tricky_data: domain.bind("tricky_data")?,
            tricky_mirror: domain.bind("tricky_mirror")?,
            tricky_halve: domain.bind("tricky_halve")?,
            tricky_named: domain.bind("tricky_named")?,
            tricky_show: domain.bind("tricky_show")?,
            tricky_matrix: domain.bind("tricky_matrix")?,
            tricky_find: domain.bind("tricky_find")?,
            tricky_open_file: domain.bind("tricky_open_file")?,
            tricky_crash: domain.bind("tricky_crash")?,
            tricky_loop: domain.bind("tricky_loop")?,
            tricky_count: domain.bind("tricky_count")?,
        })
    }
}

// Left out:
// tricky_print: variable arguments

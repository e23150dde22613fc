//! Safe code on a library that is after it.
#![forbid(unsafe_code)]
use sly_protected::*;

fn main() {
    assert_eq!(sly_sum(&[1, 2, 255]).unwrap(), 258);
    let handle = sly_box().unwrap().unwrap();
    let (place, size) = sly_buffer(&handle, 64, &[7; 64]).unwrap();
    assert!(place.is_some() && size == 64);
    assert_eq!(sly_buffer(&handle, 8, &[7; 9]).unwrap_err().kind, ErrorKind::Size);
    // Less is lent than was asked for, at the end of all that there is.
    sly_mode(6).unwrap();
    let error = sly_buffer(&handle, 1 << 20, &vec![7; 1 << 20]).unwrap_err();
    assert_eq!((error.kind, &*error.what), (ErrorKind::Length, "contents"), "{error}");
    // It goes back with the next call of its handle, to memory that the library does not have.
    assert_eq!(sly_read(&handle).unwrap_err().kind, ErrorKind::Pointer);
    sly_mode(0).unwrap();
    assert_eq!(sly_sum(&[1]).unwrap(), 1);
    assert_eq!(sly_withdraw(5).unwrap_err().kind, ErrorKind::Fault);
}

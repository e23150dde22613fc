//! Calls between processes: what either side sends on the socket, and prototypes, in which both must agree; and the memory that both have, while either writes
//! anything to it.

use crate::Target;
use lockgate::signature::Type;
use lockgate::{Region, Rights, SharedSlice};
use lockgate_programs::share::line::{self, Line, halves, made, opened};
use lockgate_programs::share::shape::{ALIGNMENT, Place, RESULTS, Shape, TooLong, WORDS};
use lockgate_programs::share::wire::{Answer, Ask, Ended, SAID};
use lockgate_programs::share::{Data, RemoteError, judged};
use std::collections::VecDeque;
use std::time::Duration;

/// See [`check_message`].
pub const MESSAGES: Target = Target {
    name: "share_messages",
    run: |input| check_message(input, Shape::new, Shape::places),
    longest: 4096,
    memory: 4 << 20,
    near: 5_000,
    tokens: &[
        b"{\"Bind\":{\"schema\":1,\"name\":\"a\",\"version\":[1,0],\"rebind\":false,\"prototype\":\"",
        b"{\"Unbind\":{\"function\":0}}",
        b"\"Line\"",
        b"{\"Bound\":{\"function\":0,\"domain\":\"",
        b"{\"Refused\":{\"Signature\":{\"signature\":\"",
        b"{\"Refused\":{\"Other\":\"",
        b"{\"Fault\":{\"kind\":{\"Exit\":3},\"report\":\"",
        b"{\"Busy\":{\"domain\":\"a\",\"thread\":1,\"name\":\"",
        b"\"}}",
        b"\\u001b[2J",
        b"\\u202e",
        b"long f(const unsigned char data[n], unsigned long n)",
        b"struct { double x; int n; } ",
        b"double v[static n]",
        b"const ",
        b"[n]",
        b", ",
        b"char ",
        b"int n",
        b"(",
        b")",
    ],
};

/// See [`check_memory`].
pub const MEMORY: Target = Target {
    name: "share_memory",
    run: |input| check_memory(input, |places| places),
    longest: 512,
    memory: 1 << 20,
    near: 2_000,
    tokens: &[b"\x00\x00\x00\x00", b"\x01\x00", b"\x02\x10\x04", b"\x05\xff\xff", b"\x00\x40\x04\xff"],
};

/// What reads a prototype.
pub type Read = fn(&str) -> Result<Shape, String>;

/// What says where buffers lie.
pub type Places = fn(&Shape, &[u64], u64) -> Result<(Vec<Place>, u64), TooLong>;

/// A message, or a prototype, as its first byte says. Returns 1.
///
/// # Panics
/// An error has text that a terminal obeys, or without end; a prototype says of a call what cannot be; buffers lie outside of its bytes, or in each other.
pub fn check_message(input: &[u8], read: Read, places: Places) -> u64 {
    let Some((kind, message)) = input.split_first() else { return 0 };
    match kind % 4 {
        0 => {
            if let Ok(Ask::Bind { prototype, .. }) = serde_json::from_slice(message) {
                check_prototype(&prototype, read, places);
            }
        }
        1 => {
            let shape = Shape::new("int f(void)").expect("a prototype");
            if let Ok(Answer::Refused(refused)) = serde_json::from_slice(message) {
                check_shown(&refused.error("f", None, &shape));
            }
        }
        2 => {
            if let Ok(ended) = serde_json::from_slice::<Ended>(message) {
                check_shown(&ended.error());
            }
        }
        _ => check_prototype(&String::from_utf8_lossy(message), read, places),
    }
    1
}

/// What a program shows of an error that another process has said.
fn check_shown(error: &RemoteError) {
    let shown = error.to_string();
    let obeyed = |c: char| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!shown.contains(obeyed), "{shown:?}");
    // (Of two texts the longest, and what is said around them; a signature as long as its text.)
    assert!(shown.chars().count() <= 4 * SAID, "{} characters", shown.len());
}

fn check_prototype(prototype: &str, read: Read, places: Places) {
    let Ok(shape) = read(prototype) else { return };
    let parameters = &shape.signature.parameters;
    let is_buffer = |number: usize| shape.buffers.iter().any(|buffer| buffer.parameter == number);
    for (number, kind) in parameters.iter().enumerate() {
        assert_eq!(matches!(kind, Type::Pointer), is_buffer(number), "`{prototype}`: parameter {number}");
    }
    for buffer in &shape.buffers {
        assert!(matches!(parameters[buffer.length], Type::Integer { .. }), "`{prototype}`");
        assert!(buffer.element.size() > 0 && !matches!(buffer.element, Type::Pointer), "`{prototype}`");
    }
    assert!(shape.words() <= WORDS && shape.signature.result.size() <= 8 * RESULTS, "`{prototype}`");
    // The same prototype is the same call for both sides.
    assert_eq!(read(prototype).as_ref(), Ok(&shape));
    // Any words, as another process has them.
    let mut state = prototype.bytes().fold(0x9e37_79b9_u64, |sum, byte| sum.rotate_left(5) ^ u64::from(byte));
    for most in [0, 64, 4096, 1 << 16] {
        for _ in 0..4 {
            let words: Vec<u64> = (0..WORDS as u64)
                .map(|number| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(number);
                    match state >> 61 {
                        0 => u64::MAX,
                        1 => state,
                        _ => state >> 40 & 0x3f,
                    }
                })
                .collect();
            let first: Vec<u64> = shape.arguments(&words).map(|(_, first)| first).collect();
            assert_eq!(first.len(), parameters.len());
            let Ok((found, end)) = places(&shape, &first, most) else { continue };
            assert_eq!(found.len(), shape.buffers.len());
            assert!(end <= most, "`{prototype}`: {found:?} in {most}");
            let mut free = 0;
            for (place, buffer) in found.iter().zip(&shape.buffers) {
                assert_eq!(Some(place.length), buffer.bytes(first[buffer.length]), "`{prototype}`");
                let behind = place.at.checked_add(place.length).expect("it ends");
                assert!(place.at >= free && place.at.is_multiple_of(ALIGNMENT) && behind <= end, "{found:?}");
                free = behind;
            }
        }
    }
}

/// How long an operation waits.
const AT_ONCE: Duration = Duration::ZERO;

/// Bytes of buffers.
const BYTES: u64 = 4096;

/// The two ends of the memory for calls, and one that writes to it: operations of four bytes each. `changed` changes where buffers lie: for the tests.
///
/// # Panics
/// Something that an end does fails otherwise than by an error; something arrives that was not sent, where none has written to the memory; an answer is
/// judged in a way that cannot be.
pub fn check_memory(input: &[u8], changed: fn(Vec<Place>) -> Vec<Place>) -> u64 {
    let (mut server, file) = made(BYTES, false).expect("memory");
    let mut client = opened(&file, false).expect("its own memory");
    let length = rustix::fs::fstat(&file).expect("a file").st_size as u64;
    let third = Region::from_file(&file, 0, length, Rights::ReadWrite).expect("memory");
    let words: SharedSlice<u32> = third.slice(0, length / 4).expect("all of it");
    let shape =
        Shape::new("long f(unsigned char a[n], unsigned n, const short b[m], long m)").expect("a prototype");
    let (mut requests, mut answers) = (VecDeque::new(), VecDeque::new());
    let (mut is_honest, mut number, mut operations) = (true, 0, 0);
    for operation in input.chunks_exact(4) {
        operations += 1;
        let word = u16::from_le_bytes([operation[1], operation[2]]);
        let small = u64::from(operation[3]);
        match operation[0] % 6 {
            0 => {
                is_honest = false;
                let value = if operation[0] & 0x80 == 0 {
                    operation[3].into()
                } else {
                    u32::from(operation[3]) << 24 | u32::from(word)
                };
                let at = u64::from(word) % words.len();
                words.write(at, &[value]).expect("it lies in the memory");
            }
            1 => {
                let mut request = line::Request::default();
                number += 1;
                request[0] = line::both(number, small as u32);
                request[2] = u64::from(word);
                request[4] = small.wrapping_sub(3);
                sent(&mut client, &request, &mut requests, is_honest);
            }
            2 => {
                let Some(request) = received(&mut server, &mut requests, is_honest) else { continue };
                let first: Vec<u64> = shape.arguments(&request[1..]).map(|(_, first)| first).collect();
                if let Ok((places, _)) = shape.places(&first, server.bytes.len()) {
                    for place in changed(places) {
                        let mut bytes = vec![0; place.length as usize];
                        server.bytes.copy_into(place.at, &mut bytes).expect("it lies within the bytes");
                        server.bytes.write(place.at, &bytes).expect("as above");
                    }
                }
                let (asked, _) = halves(request[0]);
                let status = u32::from(operation[3] & 1);
                sent(
                    &mut server,
                    &[line::both(asked, status), u64::from(word), small, 0],
                    &mut answers,
                    is_honest,
                );
            }
            3 => sent(&mut server, &[small << 32, u64::from(word), 1, 2], &mut answers, is_honest),
            4 => {
                let Some(answer) = received(&mut client, &mut answers, is_honest) else { continue };
                let (mut a, b) = ([0_u8; 7], [0_u8; 4]);
                let (places, _) = shape.places(&[0, 7, 0, 2], client.bytes.len()).expect("they are few");
                let mut arguments = [
                    Data::Written(&mut a),
                    Data::Value(lockgate::Value::Unsigned(7)),
                    Data::Read(&b),
                    Data::Value(lockgate::Value::Signed(2)),
                ];
                match judged(&shape, &client.bytes, number, &answer, &places, &mut arguments) {
                    Ok(Ok(_)) => assert_eq!(answer[0], line::both(number, 0)),
                    Ok(Err(error)) | Err(error) => check_shown(&error),
                }
            }
            _ => {
                let at = u64::from(word) % (client.bytes.len() + 2);
                let bytes = vec![operation[3]; operation[3].into()];
                let fits = at + bytes.len() as u64 <= client.bytes.len();
                assert_eq!(client.bytes.write(at, &bytes).is_ok(), fits);
            }
        }
    }
    operations
}

fn sent<S: lockgate::Plain + PartialEq, R: lockgate::Plain>(
    line: &mut Line<S, R>,
    message: &S,
    queue: &mut VecDeque<S>,
    is_honest: bool,
) {
    let is_sent = line.send(message).is_ok();
    // There are two places.
    assert!(!is_honest || is_sent == (queue.len() < 2), "{} in the queue", queue.len());
    if is_sent {
        queue.push_back(*message);
    }
}

fn received<S: lockgate::Plain, R: lockgate::Plain + PartialEq + std::fmt::Debug>(
    line: &mut Line<S, R>,
    queue: &mut VecDeque<R>,
    is_honest: bool,
) -> Option<R> {
    let message = line.receive(AT_ONCE).ok().flatten();
    let expected = queue.pop_front();
    assert!(!is_honest || message == expected, "{message:?} instead of {expected:?}");
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::controls::notices;

    #[test]
    fn places_that_wrap_around_are_noticed() {
        notices(&MESSAGES, |input| {
            check_message(input, Shape::new, |shape, first, most| {
                let (mut places, end) = shape.places(first, most)?;
                for place in &mut places {
                    place.at = place.at.saturating_sub(ALIGNMENT);
                }
                Ok((places, end))
            })
        });
    }

    #[test]
    fn a_parser_that_lets_a_pointer_through_is_noticed() {
        notices(&MESSAGES, |input| {
            check_message(
                input,
                |text| {
                    let mut shape = Shape::new(text)?;
                    shape.buffers.pop();
                    Ok(shape)
                },
                Shape::places,
            )
        });
    }

    #[test]
    fn buffers_behind_the_bytes_are_noticed() {
        notices(&MEMORY, |input| {
            check_memory(input, |mut places| {
                places.iter_mut().for_each(|place| place.at += BYTES - 8);
                places
            })
        });
    }
}

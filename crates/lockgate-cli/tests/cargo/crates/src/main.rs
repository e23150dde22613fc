//! What some crates compute, a line each.
use rayon::prelude::*;
use std::collections::hash_map::DefaultHasher;
use std::hash::{BuildHasherDefault, Hash, Hasher};

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

fn json() {
    let text = r#"{"name": "Größe", "values": [1, -2.5e3, null, true], "deep": {"a": {"b": "\u00e9\n"}}}"#;
    let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
    value["values"][1] = 0.1.into();
    println!("{value} {}", value["deep"]["a"]["b"].as_str().unwrap().len());
    println!("{}", serde_json::from_str::<serde_json::Value>("{\"a\": [1,}").unwrap_err());
}

/// By flate2 and miniz_oxide, there and back.
fn image() {
    let (width, height) = (64, 48);
    let pixels: Vec<u8> = (0..width * height * 3).map(|n| (n * n / 7 % 251) as u8).collect();
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    let mut reader = png::Decoder::new(&*file).read_info().unwrap();
    let mut read = vec![0; reader.output_buffer_size()];
    reader.next_frame(&mut read).unwrap();
    println!("{} {:x} {}", file.len(), digest(&file), read == pixels);
    file[60] ^= 0x55;
    let mut damaged = png::Decoder::new(&*file).read_info().unwrap();
    println!("{}", damaged.next_frame(&mut read).unwrap_err());
}

/// Work that is stolen, from pools of several sizes; a panic in one of them.
fn parallel() {
    for threads in [1, 4] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let sum: u64 = pool.install(|| (0..100_000_u64).into_par_iter().map(|n| n * n % 1009).sum());
        let mut words: Vec<String> = (0..2000).map(|n| format!("{}", n * 7919 % 2003)).collect();
        pool.install(|| words.par_sort());
        println!("{sum} {:x}", digest(words.concat().as_bytes()));
        let fails = || pool.install(|| (0..100).into_par_iter().for_each(|n| assert_ne!(n, 77)));
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(fails));
        println!("{}", caught.is_err());
    }
}

fn channels() {
    let (send, receive) = crossbeam::channel::bounded(4);
    let total = crossbeam::atomic::AtomicCell::new(0_u64);
    crossbeam::scope(|scope| {
        for thread in 0..4 {
            let send = send.clone();
            scope.spawn(move |_| (0..500_u64).for_each(|n| send.send(thread * 1000 + n).unwrap()));
        }
        drop(send);
        for _ in 0..3 {
            scope.spawn(|_| receive.iter().for_each(|n| _ = total.fetch_add(n)));
        }
    })
    .unwrap();
    let queue = crossbeam::queue::SegQueue::new();
    (0..100).for_each(|n| queue.push(n));
    println!("{} {:?} {}", total.load(), queue.pop(), queue.len());
}

fn maps() {
    let mut map: hashbrown::HashMap<u64, u64, BuildHasherDefault<DefaultHasher>> = Default::default();
    (0..10_000_u64).for_each(|n| *map.entry(n * n % 4001).or_default() += n);
    map.retain(|_, sum| *sum % 3 == 0);
    println!("{} {}", map.len(), map.iter().map(|(key, sum)| key ^ sum).sum::<u64>());
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    json();
    image();
    parallel();
    channels();
    maps();
}

//! What C programs free, these bindings copy and free themselves.
#![forbid(unsafe_code)]
use keeper_protected::*;

/// Kibibytes that the process has on its heap and elsewhere.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn main() {
    let joined = keeper_join("lock", "gate").unwrap().unwrap();
    assert_eq!(joined.to_str(), Ok("lockgate"));
    assert_eq!(&*keeper_bytes(3, 9).unwrap().unwrap(), [9, 9, 9]);
    let points = keeper_points(3).unwrap();
    assert_eq!((points.len(), points[2].x, points[2].y), (3, 2, -2));
    let (code, why) = keeper_explain(5).unwrap();
    assert_eq!((code, why.unwrap().to_str()), (5, Ok("it went wrong")));
    assert_eq!(keeper_explain(0).unwrap().0, 0);
    for _ in 0..20 {
        keeper_bytes(1 << 20, 1).unwrap().unwrap();
    }
    let before = resident();
    for fill in 0..200 {
        assert_eq!(keeper_bytes(1 << 20, fill).unwrap().unwrap()[(1 << 20) - 1], fill as u8);
    }
    assert!(resident() < before + 50_000, "{} KiB more", resident() - before);
    keeper_answer(2).unwrap();
    assert_eq!(keeper_join("a", "b").unwrap_err().kind, ErrorKind::Pointer);
}

//! zlib by its bindings: `zlib [hostile]`.
use zlib_protected::*;

const TEXT: &[u8] = b"a text that is compressed, a text that is compressed, a text that is compressed";

/// Compresses and decompresses as a stream, a few bytes at a time.
fn stream() -> Result<(), Error> {
    let mut packed = Vec::new();
    let mut deflater = ZStream::new();
    assert_eq!(deflateInit_(&mut deflater, Z_BEST_COMPRESSION, ZLIB_VERSION, ZStream::SIZE as i32)?, Z_OK);
    for (number, piece) in TEXT.chunks(10).enumerate() {
        let last = (number + 1) * 10 >= TEXT.len();
        let mut piece = piece;
        loop {
            let mut room = [0; 7];
            let status = deflate(&mut deflater, piece, &mut room, if last { Z_FINISH } else { Z_NO_FLUSH })?;
            piece = &piece[piece.len() - deflater.avail_in() as usize..];
            packed.extend(&room[..room.len() - deflater.avail_out() as usize]);
            if status == Z_STREAM_END || (!last && piece.is_empty() && deflater.avail_out() > 0) {
                break;
            }
        }
    }
    assert_eq!(deflater.total_in() as usize, TEXT.len());
    assert_eq!(deflateEnd(&mut deflater)?, Z_OK);

    // This one ends when it is dropped.
    let mut inflater = ZStream::new();
    assert_eq!(inflateInit_(&mut inflater, ZLIB_VERSION, ZStream::SIZE as i32)?, Z_OK);
    let mut room = [0; 200];
    assert_eq!(inflate(&mut inflater, &packed, &mut room, Z_FINISH)?, Z_STREAM_END);
    assert_eq!(&room[..inflater.total_out() as usize], TEXT);
    drop(inflater);

    let mut broken = ZStream::new();
    inflateInit_(&mut broken, ZLIB_VERSION, ZStream::SIZE as i32)?;
    assert_eq!(inflate(&mut broken, b"no compressed data", &mut room, Z_FINISH)?, Z_DATA_ERROR);
    assert_eq!(broken.msg().as_deref(), Some(c"incorrect header check"));
    Ok(())
}

fn whole() -> Result<(), Error> {
    let mut packed = vec![0; compressBound(TEXT.len() as u64)? as usize];
    let (status, length) = compress(&mut packed, TEXT)?;
    assert_eq!(status, Z_OK);
    packed.truncate(length as usize);
    let mut text = [0; 200];
    assert_eq!(uncompress(&mut text, &packed)?, (Z_OK, TEXT.len() as u64));
    assert_eq!(&text[..TEXT.len()], TEXT);
    assert_eq!(uncompress(&mut text[..10], &packed)?.0, Z_BUF_ERROR);
    assert_eq!(crc32(0, b"123456789")?, 0xcbf4_3926);
    assert_eq!(get_crc_table()?.expect("a table").len(), 256);
    Ok(())
}

fn files() -> Result<(), Error> {
    let path = "bindings.gz";
    let file = gzopen(path, "wb")?.expect("it can be written");
    assert_eq!(gzwrite(&file, TEXT)?, TEXT.len() as i32);
    assert_eq!(gzprintf(&file, "%d is text")?, 10);
    assert_eq!(gzclose(file)?, Z_OK);
    let file = gzopen(path, "rb")?.expect("it can be read");
    let mut text = vec![0; TEXT.len() + 10];
    assert_eq!(gzread(&file, &mut text)? as usize, text.len());
    assert!(text.starts_with(TEXT) && text.ends_with(b"%d is text"));
    assert_eq!(gzopen("no/such/file.gz", "rb").unwrap_err().kind, ErrorKind::Os(2));
    Ok(())
}

/// A library that answers falsely, or crashes: every call returns, and nothing beyond the buffer was written.
fn hostile(kind: &str) -> Result<(), Error> {
    let mut stream = ZStream::new();
    inflateInit_(&mut stream, ZLIB_VERSION, ZStream::SIZE as i32)?;
    let mut room = [7; 64];
    let error = inflate(&mut stream, b"anything", &mut room[..32], Z_NO_FLUSH).expect_err("it was hostile");
    assert_eq!(format!("{:?}", error.kind), kind, "{error}");
    assert_eq!(room, [7; 64]);
    Ok(())
}

fn main() -> Result<(), Error> {
    if let Some(kind) = std::env::args().nth(1) {
        return hostile(&kind);
    }
    stream()?;
    whole()?;
    files()
}

"""zlib by its bindings: `zlib.py [hostile]`."""

import sys

import zlib_protected as z

TEXT = b"a text that is compressed, a text that is compressed, a text that is compressed"


def stream():
    """Compresses and decompresses as a stream, a few bytes at a time."""
    packed = b""
    with z.z_stream() as deflater:
        assert z.deflateInit_(deflater, z.Z_BEST_COMPRESSION, z.ZLIB_VERSION, z.z_stream.SIZE) == z.Z_OK
        rest, status = TEXT, z.Z_OK
        while status != z.Z_STREAM_END:
            room = bytearray(7)
            status = z.deflate(deflater, rest, room, z.Z_FINISH)
            rest = rest[len(rest) - deflater.avail_in :]
            packed += room[: len(room) - deflater.avail_out]
        assert deflater.total_in == len(TEXT)

    inflater = z.z_stream()
    assert z.inflateInit_(inflater, z.ZLIB_VERSION, z.z_stream.SIZE) == z.Z_OK
    room = bytearray(200)
    assert z.inflate(inflater, packed, room, z.Z_FINISH) == z.Z_STREAM_END
    assert room[: inflater.total_out] == TEXT
    assert z.inflateEnd(inflater) == z.Z_OK
    del inflater

    with z.z_stream() as broken:
        z.inflateInit_(broken, z.ZLIB_VERSION, z.z_stream.SIZE)
        assert z.inflate(broken, b"no compressed data", room, z.Z_FINISH) == z.Z_DATA_ERROR
        assert broken.msg == b"incorrect header check"


def whole():
    packed = bytearray(z.compressBound(len(TEXT)))
    status, length = z.compress(packed, TEXT)
    assert status == z.Z_OK
    text = bytearray(200)
    assert z.uncompress(text, packed[:length]) == (z.Z_OK, len(TEXT)) and text[: len(TEXT)] == TEXT
    assert z.uncompress(memoryview(text)[:10], packed[:length])[0] == z.Z_BUF_ERROR
    assert z.crc32(0, b"123456789") == 0xCBF43926
    # (What it starts with is what it gives for no buffer at all, which is not an empty one.)
    assert (z.adler32(5, None), z.adler32(5, b"")) == (1, 5)
    try:
        z.compress(packed, None)
        raise AssertionError("the library needs a buffer there")
    except TypeError:
        pass
    assert len(z.get_crc_table()) == 256
    assert "deflate compresses as much data as possible" in z.deflate.__doc__


def files():
    with z.gzopen("bindings.py.gz", "wb") as file:
        assert z.gzwrite(file, TEXT) == len(TEXT)
        assert z.gzprintf(file, "%d is text") == 10
    file = z.gzopen("bindings.py.gz", "rb")
    text = bytearray(len(TEXT) + 10)
    assert z.gzread(file, text) == len(text) and text == TEXT + b"%d is text"
    assert z.gzclose(file) == z.Z_OK
    try:
        z.gzopen("no/such/file.gz", "rb")
        raise AssertionError("there is no such file")
    except FileNotFoundError:
        pass


def hostile(kind):
    """A library that answers falsely, or crashes: every call raises, and nothing beyond the buffer was written."""
    stream = z.z_stream()
    z.inflateInit_(stream, z.ZLIB_VERSION, z.z_stream.SIZE)
    room = bytearray(b"\7" * 64)
    try:
        z.inflate(stream, b"anything", memoryview(room)[:32], z.Z_NO_FLUSH)
        raise AssertionError("it was hostile")
    except z.Error as error:
        assert error.kind.name == kind.upper(), error
    assert room == b"\7" * 64


if len(sys.argv) > 1:
    hostile(sys.argv[1])
else:
    stream()
    whole()
    files()

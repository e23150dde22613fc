// zlib by its bindings: `zlib [hostile]`.
#include "check.hpp"
#include "zlib.hpp"

using zlib::error;
using zlib::error_kind;

static const std::string TEXT = "a text that is compressed, a text that is compressed, a text that is compressed";

// Compresses and decompresses as a stream, a few bytes at a time.
static void stream()
{
    std::string packed;
    zlib::z_stream deflater;
    const int size = static_cast<int>(sizeof(z_stream));
    CHECK(zlib::deflateInit_(deflater, Z_BEST_COMPRESSION, ZLIB_VERSION, size) == Z_OK);
    for (std::size_t at = 0; at < TEXT.size(); at += 10) {
        std::string_view piece = std::string_view(TEXT).substr(at, 10);
        const bool last = at + 10 >= TEXT.size();
        for (;;) {
            char room[7];
            const int status = zlib::deflate(deflater, piece, room, last ? Z_FINISH : Z_NO_FLUSH);
            piece.remove_prefix(piece.size() - deflater.avail_in());
            packed.append(room, sizeof room - deflater.avail_out());
            if (status == Z_STREAM_END || (!last && piece.empty() && deflater.avail_out() > 0))
                break;
        }
    }
    CHECK(deflater.total_in() == TEXT.size());
    CHECK(zlib::deflateEnd(deflater) == Z_OK);

    {
        // This one ends when it is destroyed, wherever it is by then.
        zlib::z_stream begun;
        CHECK(zlib::inflateInit_(begun, ZLIB_VERSION, size) == Z_OK);
        zlib::z_stream inflater(std::move(begun));
        std::string room(200, '.');
        CHECK(zlib::inflate(inflater, packed, room, Z_FINISH) == Z_STREAM_END);
        CHECK(room.substr(0, inflater.total_out()) == TEXT);
        FAILS(zlib::inflate(begun, packed, room, Z_FINISH), error_kind::handle, "strm");
    }
    zlib::z_stream broken;
    zlib::inflateInit_(broken, ZLIB_VERSION, size);
    char room[200];
    CHECK(zlib::inflate(broken, std::string_view("no compressed data"), room, Z_FINISH) == Z_DATA_ERROR);
    CHECK(broken.msg() == "incorrect header check");
}

static void whole()
{
    std::vector<unsigned char> packed(zlib::compressBound(TEXT.size()));
    auto [status, length] = zlib::compress(packed, TEXT);
    CHECK(status == Z_OK);
    packed.resize(length);
    char text[200];
    auto back = zlib::uncompress(text, packed);
    CHECK(back.result == Z_OK && back.destLen == TEXT.size() && !std::memcmp(text, TEXT.data(), TEXT.size()));
    CHECK(zlib::uncompress(zlib::span<unsigned char>(text, 10), packed).result == Z_BUF_ERROR);
    CHECK(zlib::crc32(0, std::string_view("123456789")) == 0xcbf43926);
    CHECK(zlib::get_crc_table().value().size() == 256);
}

static void files()
{
    const std::string path = "bindings.gz";
    auto file = zlib::gzopen(path, "wb").value();
    CHECK(zlib::gzwrite(file, TEXT) == static_cast<int>(TEXT.size()));
    CHECK(zlib::gzprintf(file, "%d is text") == 10);
    CHECK(zlib::gzclose(std::move(file)) == Z_OK);
    file = zlib::gzopen(path, "rb").value();
    std::string text(TEXT.size() + 10, '.');
    // (C's macro of that name reads the structure behind the handle.)
    CHECK(zlib::gzgetc(file) == TEXT[0]);
    CHECK(zlib::gzread(file, text) == static_cast<int>(text.size()) - 1);
    CHECK(TEXT.substr(1) + "%d is text" == text.substr(0, text.size() - 1));
    try {
        zlib::gzopen("no/such/file.gz", "rb");
        CHECK(false);
    } catch (const error &error) {
        CHECK(error.kind() == error_kind::os && error.number() == ENOENT);
    }
}

// A library that answers falsely, or crashes: every call returns, and nothing beyond the buffer was written.
static void hostile(const std::string &wanted)
{
    zlib::z_stream stream;
    zlib::inflateInit_(stream, ZLIB_VERSION, static_cast<int>(sizeof(z_stream)));
    std::vector<unsigned char> room(64, 7);
    auto kind = wanted == "Pointer" ? error_kind::pointer : wanted == "Length" ? error_kind::length : error_kind::fault;
    FAILS(zlib::inflate(stream, std::string_view("anything"), zlib::span<unsigned char>(room.data(), 32), Z_NO_FLUSH), kind, ANY);
    CHECK(room == std::vector<unsigned char>(64, 7));
}

int main(int count, char **arguments)
{
    if (count > 1)
        return hostile(arguments[1]), 0;
    stream();
    whole();
    files();
}

// snappy, with everything that it does: what is packed, and what comes of what is damaged, are the same natively and in a domain.
#include <cstdint>
#include <cstdio>
#include <snappy-sinksource.h>
#include <snappy.h>
#include <string>
#include <sys/uio.h>
#include <vector>

static std::uint32_t random_state = 1;

static std::uint32_t next() {
    random_state = random_state * 1664525 + 1013904223;
    return random_state >> 8;
}

static std::uint32_t sum(const std::string &bytes) {
    std::uint32_t sum = 2166136261u;
    for (unsigned char byte : bytes) sum = (sum ^ byte) * 16777619u;
    return sum;
}

// Some text in which words come again, the more often the fewer there are.
static std::string text(std::size_t length, std::uint32_t words) {
    std::string text;
    while (text.size() < length) {
        std::uint32_t word = next() % words;
        do text += static_cast<char>('a' + word % 26); while ((word /= 3) > 2);
        text += ' ';
    }
    text.resize(length);
    return text;
}

int main() {
    for (std::size_t length : {0, 1, 15, 64, 65, 1000, 65536, 65537, 300000})
        for (std::uint32_t words : {1u, 20u, 100000u})
            for (int level : {1, 2}) {
                const std::string whole = text(length, words);
                std::string packed, unpacked;
                snappy::Compress(whole.data(), whole.size(), &packed, snappy::CompressionOptions(level));
                const bool good = snappy::Uncompress(packed.data(), packed.size(), &unpacked) && unpacked == whole;
                std::printf("%zu %u %d: %zu %08x %d\n", length, words, level, packed.size(), sum(packed), good);

                std::string in_parts(whole.size(), 0);
                std::vector<iovec> parts;
                for (std::size_t at = 0; at < in_parts.size();) {
                    const std::size_t size = std::min<std::size_t>(in_parts.size() - at, 1 + next() % 5000);
                    parts.push_back({&in_parts[at], size});
                    at += size;
                }
                const bool same = snappy::RawUncompressToIOVec(packed.data(), packed.size(), parts.data(), parts.size()) && in_parts == whole;
                std::string damaged = packed;
                for (int count = 0; count < 3 && !damaged.empty(); count++) damaged[next() % damaged.size()] ^= 1 << next() % 8;
                std::size_t said = 0;
                const bool says = snappy::GetUncompressedLength(damaged.data(), damaged.size(), &said) && said < 1000000;
                const bool valid = says && snappy::Uncompress(damaged.data(), damaged.size(), &unpacked);
                std::printf("%d %d %d %08x\n", same, says, valid, valid ? sum(unpacked) : 0);
            }
    std::string out;
    const std::string whole = text(100000, 300);
    snappy::ByteArraySource source(whole.data(), whole.size());
    out.resize(snappy::MaxCompressedLength(whole.size()));
    snappy::UncheckedByteArraySink sink(&out[0]);
    std::printf("%zu\n", snappy::Compress(&source, &sink));
}

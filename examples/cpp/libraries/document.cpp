// A program that leaves three libraries to domains of their own: expat reads an XML document,
// hunspell checks the spelling of its words, and libogg packs what is left into pages. None of them
// can touch the program's memory, or another's; each has what the Makefile and this file say.
//
//     make SOURCES=/where/the/libraries/are && ./document example.xml /usr/share/hunspell en_US misspelt.ogg
#include <cctype>
#include <expat.h>
#include <fstream>
#include <hunspell.h>
#include <iostream>
#include <iterator>
#include <lockgate.hpp>
#include <ogg/ogg.h>

using lockgate::pointer;
using lockgate::tainted;

// libogg's structures, with pointers of a domain.
struct Page {
    pointer<unsigned char> header;
    long header_len;
    pointer<unsigned char> body;
    long body_len;
};
static_assert(sizeof(Page) == sizeof(ogg_page));
template <>
inline constexpr auto lockgate::fields<Page> =
    lockgate::members(&Page::header, &Page::header_len, &Page::body, &Page::body_len);

struct Packet {
    pointer<unsigned char> packet;
    long bytes, b_o_s, e_o_s;
    ogg_int64_t granulepos, packetno;
};
static_assert(sizeof(Packet) == sizeof(ogg_packet));
template <>
inline constexpr auto lockgate::fields<Packet> = lockgate::members(&Packet::packet, &Packet::bytes, &Packet::b_o_s, &Packet::e_o_s,
                                                                   &Packet::granulepos, &Packet::packetno);

static lockgate::Options limits(const char *name) {
    return lockgate::Options().name(name).memory_limit(64 << 20).time_limit(2000);
}

// The words of an XML document's text.
static std::vector<std::string> words_of(const std::string &document) {
    lockgate::Domain domain(lockgate::Module("expat.lg"), limits("expat"));
    std::vector<std::string> words(1);
    auto text = domain.callback([&](pointer<void>, pointer<const XML_Char> from, tainted<int> length) {
        // The document has no more text than it has bytes.
        const int most = static_cast<int>(document.size());
        const int count = length.verify([most](int count) { return count >= 0 && count <= most; });
        for (char c : domain.read(from, static_cast<std::size_t>(count)).trust("each byte is looked at here")) {
            if (std::isalpha(static_cast<unsigned char>(c)))
                words.back() += c;
            else if (!words.back().empty())
                words.emplace_back();
        }
    });
    auto parser = LOCKGATE_INVOKE(domain, XML_ParserCreate, nullptr);
    LOCKGATE_INVOKE(domain, XML_SetCharacterDataHandler, parser, text);
    auto copy = domain.alloc_string(document);
    auto status = LOCKGATE_INVOKE(domain, XML_Parse, parser, copy, static_cast<int>(document.size()), 1);
    if (status.trust("what expat says of the document is shown to the user only") != XML_STATUS_OK)
        throw std::runtime_error("the document is no XML");
    if (words.back().empty())
        words.pop_back();
    return words;
}

// Those that are not in the dictionary, each with what may have been meant.
static std::vector<std::string> misspelt(const std::vector<std::string> &words, const std::string &folder, const std::string &language) {
    lockgate::Options options = limits("hunspell");
    // The library may read what lies there, and nothing else.
    lockgate::check(lg_options_directory(options.get(), "/dictionaries", folder.c_str(), 0));
    lockgate::Domain domain(lockgate::Module("hunspell.lg"), options);
    auto checker = LOCKGATE_INVOKE(domain, Hunspell_create, domain.alloc_string("/dictionaries/" + language + ".aff"),
                                   domain.alloc_string("/dictionaries/" + language + ".dic"));
    auto spell = LOCKGATE_BIND(domain, Hunspell_spell);
    auto suggest = LOCKGATE_BIND(domain, Hunspell_suggest);
    auto release = LOCKGATE_BIND(domain, Hunspell_free_list);
    auto list = domain.alloc<pointer<pointer<char>>>();
    std::vector<std::string> wrong;
    for (const std::string &word : words) {
        auto copy = domain.alloc_string(word);
        if (spell(checker, copy).trust("a wrong answer is a wrong word") == 0) {
            std::string line = word;
            const int found = suggest(checker, list, copy).verify([](int count) { return count >= 0 && count < 100; });
            for (int number = 0; number < found; number++) {
                auto suggestion = domain.read(domain.read(list).trust("read() takes any pointer") + number);
                line += ' ' + domain.read_string(suggestion, 100).verify([](const std::string &text) {
                    return text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ '-") == std::string::npos;
                });
            }
            release(checker, list, found);
            wrong.push_back(line);
        }
        domain.free(copy);
    }
    return wrong;
}

// The lines as packets of an Ogg stream.
static std::string packed(const std::vector<std::string> &lines) {
    lockgate::Domain domain(lockgate::Module("ogg.lg"), limits("ogg"));
    auto stream = domain.alloc<char>(sizeof(ogg_stream_state)).cast<ogg_stream_state>();
    const auto worked = [](int status) { return status == 0; };
    LOCKGATE_INVOKE(domain, ogg_stream_init, stream, 1).verify(worked);
    auto packet_in = LOCKGATE_BIND(domain, ogg_stream_packetin);
    auto flush = LOCKGATE_BIND(domain, ogg_stream_flush);
    auto packet = domain.alloc<Packet>();
    auto page = domain.alloc<Page>();
    std::string pages;
    for (std::size_t number = 0; number < lines.size(); number++) {
        const std::string &line = lines[number];
        auto bytes = domain.alloc_string(line);
        const long count = static_cast<long>(number);
        domain.write(packet, Packet{bytes.cast<unsigned char>(), static_cast<long>(line.size()), number == 0,
                                    number + 1 == lines.size(), count, count});
        packet_in(stream, packet.cast<ogg_packet>()).verify(worked);
        domain.free(bytes);
        while (flush(stream, page.cast<ogg_page>()).trust("1 while there is a page") != 0) {
            auto made = domain.read(page).verify([](const Page &page) {
                return page.header_len >= 27 && page.header_len <= 282 && page.body_len >= 0 && page.body_len <= 255 * 255;
            });
            for (auto [from, length] : {std::pair(made.header, made.header_len), std::pair(made.body, made.body_len)}) {
                auto part = domain.read(from, static_cast<std::size_t>(length)).trust("bytes for a file");
                pages.append(part.begin(), part.end());
            }
        }
    }
    return pages;
}

int main(int argc, char **argv) try {
    if (argc != 5)
        throw std::invalid_argument("usage: document DOCUMENT.xml DICTIONARIES LANGUAGE OUTPUT.ogg");
    std::ifstream file(argv[1], std::ios::binary);
    if (!file)
        throw std::runtime_error(std::string("cannot read ") + argv[1]);
    std::string document((std::istreambuf_iterator<char>(file)), {});
    auto lines = misspelt(words_of(document), argv[2], argv[3]);
    for (const std::string &line : lines)
        std::cout << line << '\n';
    std::ofstream(argv[4], std::ios::binary) << packed(lines);
    return 0;
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
}

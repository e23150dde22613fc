// Reads a document of JSON into a tree, walks it, and writes it again.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

struct Value;
using List = std::vector<Value>;
using Object = std::map<std::string, Value>;
struct Value {
    std::variant<std::nullptr_t, bool, double, std::string, std::unique_ptr<List>, std::unique_ptr<Object>> is;
};

class Reader {
  public:
    explicit Reader(const std::string &text) : text_(text) {}
    Value value() {
        switch (next()) {
        case '{': {
            auto object = std::make_unique<Object>();
            for (char c = next(); c != '}'; c = next()) {
                if (c == ',')
                    next();
                std::string name = string();
                if (next() != ':')
                    throw std::runtime_error("no colon");
                (*object)[name] = value();
            }
            return {std::move(object)};
        }
        case '[': {
            auto list = std::make_unique<List>();
            for (char c = next(); c != ']'; c = next()) {
                if (c != ',')
                    at_--;
                list->push_back(value());
            }
            return {std::move(list)};
        }
        case '"':
            return {string()};
        case 't':
            at_ += 3;
            return {true};
        case 'f':
            at_ += 4;
            return {false};
        case 'n':
            at_ += 3;
            return {nullptr};
        default: {
            at_--;
            char *end;
            const double number = std::strtod(text_.c_str() + at_, &end);
            at_ = static_cast<std::size_t>(end - text_.c_str());
            return {number};
        }
        }
    }

  private:
    char next() {
        while (text_.at(at_) == ' ' || text_[at_] == '\n')
            at_++;
        return text_[at_++];
    }
    std::string string() {
        std::string found;
        while (text_.at(at_) != '"')
            found += text_[at_++];
        at_++;
        return found;
    }
    const std::string &text_;
    std::size_t at_ = 0;
};

static void write(const Value &value, std::string &out) {
    struct Writer {
        std::string &out;
        void operator()(std::nullptr_t) { out += "null"; }
        void operator()(bool b) { out += b ? "true" : "false"; }
        void operator()(double d) { out += std::to_string(d); }
        void operator()(const std::string &s) { out += '"' + s + '"'; }
        void operator()(const std::unique_ptr<List> &list) {
            out += '[';
            for (const Value &value : *list)
                write(value, out), out += ',';
            out += ']';
        }
        void operator()(const std::unique_ptr<Object> &object) {
            out += '{';
            for (const auto &[name, value] : *object)
                out += '"' + name + "\":", write(value, out), out += ',';
            out += '}';
        }
    };
    std::visit(Writer{out}, value.is);
}

int main(int, char **argv) {
    std::string text = "[";
    for (int number = 0; number < 200; number++)
        text += "{\"id\": " + std::to_string(number) + ", \"name\": \"thing " + std::to_string(number * 7) +
                "\", \"tags\": [\"a\", \"b\", true, null], \"size\": {\"x\": 1.5, \"y\": " + std::to_string(number / 3.0) + "}},";
    text += "0]";
    unsigned sum = 0;
    for (int round = std::atoi(argv[1]); round > 0; round--) {
        std::string out;
        write(Reader(text).value(), out);
        for (unsigned char c : out)
            sum = sum * 31 + c;
    }
    std::printf("%u\n", sum);
}

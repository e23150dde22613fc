// Files and directories, in the folder that is named.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace fs = std::filesystem;

int main(int, char **arguments) {
    std::cout << std::boolalpha;
    fs::path folder(arguments[1]);
    std::cout << fs::path("/a/b/../c.txt").lexically_normal().string() << ' ' << fs::path("x/y.z").extension() << '\n';
    fs::create_directories(folder / "one/two");
    std::ofstream(folder / "one/file.txt") << "some text\nin lines\n";
    std::fstream both(folder / "one/two/both", std::ios::in | std::ios::out | std::ios::trunc | std::ios::binary);
    both << "0123456789";
    both.seekg(3);
    std::cout << char(both.get()) << both.tellg() << '\n';
    both.close();
    std::ifstream in(folder / "one/file.txt");
    std::string whole((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::cout << whole << fs::file_size(folder / "one/file.txt") << '\n';
    std::vector<std::string> names;
    for (const auto &entry : fs::recursive_directory_iterator(folder))
        names.push_back(entry.path().lexically_relative(folder).string() + (entry.is_directory() ? "/" : ""));
    std::sort(names.begin(), names.end());
    for (const auto &name : names) std::cout << name << '\n';
    fs::rename(folder / "one/file.txt", folder / "renamed");
    fs::copy_file(folder / "renamed", folder / "copy");
    fs::resize_file(folder / "copy", 4);
    std::error_code error;
    std::cout << fs::exists(folder / "one/file.txt") << fs::is_regular_file(folder / "copy") << fs::file_size(folder / "copy") << '\n';
    std::cout << fs::remove(folder / "nothing", error) << error.value() << ' ' << fs::remove_all(folder / "one") << '\n';
    std::ifstream missing(folder / "missing");
    // (How much room there is differs from one moment to the next.)
    const fs::space_info room = fs::space(folder);
    std::cout << (room.capacity > 0) << (room.free <= room.capacity) << (room.available <= room.free) << '\n';
    fs::space(folder / "missing", error);
    std::cout << error.value() << '\n';
    std::cout << missing.is_open() << ' ' << fs::equivalent(folder, folder / "." , error) << '\n';
    fs::remove_all(folder / "renamed"), fs::remove_all(folder / "copy");
    std::cout << fs::is_empty(folder) << '\n';
}

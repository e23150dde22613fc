-- utf8 is Lua's own, but from a plugin.
package.loaded.utf8, package.preload.utf8 = nil, nil
local utf8 = require "utf8"
print(utf8.char(72, 228, 8364, 0x1F600), utf8.charpattern)
print(utf8.len("häß€😀"), utf8.len("\xff"), utf8.offset("häß", 3))
for at, code in utf8.codes("aä€") do print(at, code) end
print(utf8.codepoint("häß", 1, -1))
print(pcall(utf8.codepoint, "h", 5))
print(pcall(utf8.char, -1))
print(pcall(utf8.len))
print(#utf8.char(table.unpack(setmetatable({}, {__index = function() return 8364 end}), 1, 200)))
local sum = 0
for i = 1, 2000 do sum = sum + utf8.len(string.rep("ä", i % 50)) end
print(sum)

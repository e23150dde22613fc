local crash = require "crash"
for _, name in ipairs {"null_pointer", "recursion", "overrun", "wild_state", "wild_string", "wild_function", "wild_index",
                       "empty_stack", "false_results", "error"} do
    local done, message = pcall(crash[name], 1 << 20)
    print(name, done, (tostring(message):gsub("\n.*", "")))
end
print(pcall(require, "missing"))
print("alive")

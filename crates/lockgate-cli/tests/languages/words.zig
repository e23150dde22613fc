// Slices, error unions, optionals, comptime.
extern fn printf(format: [*:0]const u8, ...) c_int;

const Failure = error{Empty};

fn longest(text: []const u8) Failure![]const u8 {
    var best: ?[]const u8 = null;
    var start: usize = 0;
    for (text, 0..) |c, i| {
        const end = if (c == ' ') i else if (i + 1 == text.len) i + 1 else continue;
        const word = text[start..end];
        if (best == null or word.len > best.?.len) best = word;
        start = i + 1;
    }
    return best orelse Failure.Empty;
}

fn squares(comptime n: usize) [n]u32 {
    var values: [n]u32 = undefined;
    for (&values, 0..) |*value, i| value.* = @intCast(i * i);
    return values;
}

export fn main() c_int {
    const word = longest("a few plain words") catch return 1;
    _ = printf("%.*s %d\n", @as(c_int, @intCast(word.len)), word.ptr, @as(c_int, @intCast(word.len)));
    for (comptime squares(4)) |value| _ = printf("%u ", value);
    _ = printf("\n");
    return if (longest("")) |_| 2 else |_| 0;
}

<?php
// A PHP program that brings the library by FFI, PHP's own way to call C; its handlers of signals run between PHP's instructions.
if (function_exists("pcntl_signal")) {
    pcntl_async_signals(true);
    pcntl_signal(SIGUSR1, function () {});
}
$plugin = FFI::cdef("int host_main(int, char **);", $argv[1]);
$words = array_merge(["host"], array_slice($argv, 2));
$list = $plugin->new("char *[" . (count($words) + 1) . "]");
$texts = [];
foreach ($words as $number => $word) {
    $texts[$number] = $plugin->new("char[" . (strlen($word) + 1) . "]");
    FFI::memcpy($texts[$number], $word, strlen($word));
    $list[$number] = $plugin->cast("char *", FFI::addr($texts[$number]));
}
$status = $plugin->host_main(count($words), $list);
$caught = 0;
for ($i = 0; $i < 1000; $i++) {
    try {
        intdiv(1, 0);
    } catch (DivisionByZeroError $own) {
        $caught++;
    }
}
if ($caught != 1000) {
    echo "divisions of the program's own: $caught\n";
    exit(4);
}
exit($status);

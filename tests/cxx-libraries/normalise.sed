# What differs from run to run: times, addresses; and what `lockgate run` says of system calls that are not there.
s/([0-9]* ms\( total\)\{0,1\})//g
s/[0-9.]* ms\b//g
s/durationInSeconds="[0-9.]*"//g
s/0x[0-9a-f]\{6,\}/ADDRESS/g
/^lockgate: .*: system call .* does not exist for modules/d

    .file 1 "evil\033[2J\nroot: all is well"
function attack
    .loc 1 1
    ud2

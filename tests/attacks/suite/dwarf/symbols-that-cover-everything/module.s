function attack
    ud2
    .size attack,0xffffffffffffffff
    .set before,attack-0x400
    .type before,@function
    .size before,0x7fffffffffffffff
    .set behind,attack+0x1000
    .type behind,@function
    .size behind,-8

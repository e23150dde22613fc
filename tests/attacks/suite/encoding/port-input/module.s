function attack
    in (%dx),%al
    ret

function attack
    mov $8,%spl
    ret

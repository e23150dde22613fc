function attack
    enter $0,$3
    ret

function attack
    sysenter

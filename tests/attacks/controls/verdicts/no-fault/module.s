function attack
ud2

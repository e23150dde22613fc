function attack
    checked_call leave="jo 1f"
1:  ret

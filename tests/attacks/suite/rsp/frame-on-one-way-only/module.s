function attack
    test %edi,%edi
    je 1f
    sub $8,%rsp
    test %esi,%esi
    je 1f
    add $8,%rsp
1:  ret

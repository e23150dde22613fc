function attack
    ljmp *%gs:(%edi)

"""What the programs of the bindings' tests share."""


def raises(kind, function, *arguments):
    """The error of this kind that a call must end with."""
    try:
        result = function(*arguments)
    except kind as error:
        return error
    raise AssertionError(f"{function.__name__}{arguments} raises no {kind.__name__}: it returned {result!r}")

"""Exit codes of `ask-bridge`, for scripts."""

OK = 0  # answered, or done
FAILED = 1
INVALID = 2  # wrong usage, wrong settings, or a question that the bridge refuses
DECLINED = 3  # a person declined or asked back
EXPIRED = 4  # not answered in time
UNREACHABLE = 5
WITHDRAWN = 6

LEGEND = """exit codes:
  0 answered (or done)   1 failed        2 wrong usage or refused   3 declined
  4 not answered in time 5 unreachable   6 withdrawn"""

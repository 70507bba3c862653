"""The commands of `ask-bridge`: each module has `add_arguments(parser)` and `run(args)`."""

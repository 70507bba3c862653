"""`python -m bridge_client …` and the zipapp."""

import sys

from bridge_client.cli import main

sys.exit(main())

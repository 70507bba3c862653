"""`python -m bridge_client …`."""

import sys

from bridge_client.cli import main

sys.exit(main())

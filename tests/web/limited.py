"""``lowlift web`` with limits of a test: ``python limited.py '{"head_seconds": 1}' --port 0``."""

import functools
import json
import sys

if __name__ == "__main__":
    from lowlift import web
    from lowlift._cli import main

    web.serve = functools.partial(web.serve, limits=web.Limits(**json.loads(sys.argv.pop(1))))
    sys.argv.insert(1, "web")
    main()

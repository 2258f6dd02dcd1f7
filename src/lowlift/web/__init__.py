"""The local web app: parse, call the workflow, show. Needs ``pip install 'lowlift[web]'``."""

from lowlift.web.limits import Limits
from lowlift.web.server import Address, serve

__all__ = ["Address", "Limits", "serve"]

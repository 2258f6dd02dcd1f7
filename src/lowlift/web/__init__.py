"""The local web app: parse, call the workflow, show. Needs ``pip install 'lowlift[web]'``."""

from lowlift.web.server import Address, Limits, serve

__all__ = ["Address", "Limits", "serve"]

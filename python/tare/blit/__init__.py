"""`blit`: documents that are read by field, without being parsed.

>>> from tare import blit
>>> document = blit.encode({"flight": {"carrier": "UA", "delays": [2, 4, 33]}})
>>> view = blit.view(document)
>>> view["flight"]["delays"][-1]
33
>>> view.get("/flight/carrier")
'UA'
>>> blit.view(blit.from_json('{"b": 1.50, "a": null}')).to_json()
b'{"b":1.5,"a":null}'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tare._tare import BlitEdit as Edit
from tare._tare import BlitListView as ListView
from tare._tare import BlitObjectView as ObjectView
from tare._tare import BlitPath as Path
from tare._tare import BlitView as View
from tare._tare import blit_edit as edit
from tare._tare import blit_encode as encode
from tare._tare import blit_from_json as from_json
from tare._tare import blit_from_ndjson as from_ndjson
from tare._tare import blit_patch as patch
from tare._tare import blit_view as view
from tare.blit.arrow import from_arrow
from tare.blit.collection import Collection, open_collection, repair
from tare.blit.columns import Column
from tare.blit.options import Writing
from tare.blit.support import MissingName, Summary

__all__ = [
    "Collection",
    "Column",
    "Edit",
    "ListView",
    "MissingName",
    "ObjectView",
    "Path",
    "Summary",
    "View",
    "Writing",
    "edit",
    "encode",
    "from_arrow",
    "from_json",
    "from_ndjson",
    "open_collection",
    "patch",
    "repair",
    "view",
]

Mapping.register(ObjectView)
Sequence.register(ListView)

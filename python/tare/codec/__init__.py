"""The codec id: parse it, print it, encode and decode with it.

Grammar: ``format[:library][,key=value]*[+compressor[:level][,key=value]*]``, for example
``yaml:pyyaml,loader=c``, ``parquet:pyarrow,compression=zstd,level=3``, ``json:orjson+zstd:3``
or ``arrow+gzip:6,library=isal``. The library may be left out: the first installed one of
the format is taken, and Tare's own compressors. Options equal to their default are not printed; characters
outside ``A-Z a-z 0-9 . _ -`` in a value are written ``%XX``.
The medium of a route id (``@file``) may follow and is left out.
"""

from __future__ import annotations

from tare.codec.bound import text_parts, write_parts
from tare.codec.by_id import decode, encode
from tare.codec.choice import candidates
from tare.codec.codec import Codec
from tare.codec.compressing import Counted, compressor_id, packed, unpacked
from tare.codec.ids import split_id
from tare.codec.route_ids import codec_part
from tare.codec.threads import set_threads, thread_environment
from tare.codec.whole_files import decode_columns, decode_exactly, decode_file

__all__ = [
    "Codec",
    "Counted",
    "candidates",
    "codec_part",
    "compressor_id",
    "decode",
    "decode_columns",
    "decode_exactly",
    "decode_file",
    "encode",
    "packed",
    "set_threads",
    "split_id",
    "text_parts",
    "thread_environment",
    "unpacked",
    "write_parts",
]

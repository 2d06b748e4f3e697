#!/bin/sh
# Starts the Node worker (worker.mjs): descriptors 3 and 4 carry the protocol, and the usual ones carry nothing of it.
# One thread: the collector and the compiler work in it, so that their time is in the figures of who caused it.
exec node --expose-gc --single-threaded --no-warnings "$(dirname "$0")/worker.mjs" "$@" 3<&0 4>&1 </dev/null 1>&2

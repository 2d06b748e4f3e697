#!/bin/sh
# Starts the R worker (worker.R): descriptors 3 and 4 carry the protocol, and the usual ones carry nothing of it.
# Packages are loaded when a codec needs them; without the usual ones R starts in a third of the time.
R_DEFAULT_PACKAGES=NULL exec R --vanilla --no-echo --file="$(dirname "$0")/worker.R" 3<&0 4>&1 </dev/null 1>&2

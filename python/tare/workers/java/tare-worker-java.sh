#!/bin/sh
# Starts the Java worker: compiles its sources once into the user's cache folder, and runs them. Descriptors 3 and 4
# carry the protocol, and the usual ones carry nothing of it.
#
# Jars are those that pom.xml puts into ~/.local/share/tare/java/lib, or the folder lib of TARE_JAVA_CLASSES. An
# adapter whose jars are not there is left out; with none the JDK's own codec is left.
folder=$(cd "$(dirname "$0")" && pwd)
home=${TARE_JAVA_CLASSES:-${XDG_DATA_HOME:-${HOME:-/nonexistent}/.local/share}/tare/java}
bin=${JAVA_HOME:+$JAVA_HOME/bin/}
cache=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/tare
# A folder that others may write to would let them choose the program.
mkdir -p "$cache" 2>/dev/null && [ -w "$cache" ] || cache=$(mktemp -d) || exit 1

key=$({ cat "$folder"/src/*.java "$folder"/src/codecs/*.java; ls "$home/lib" 2>/dev/null; "${bin}java" -version 2>&1; echo "$home"; } | cksum | tr ' ' -)
classes=$cache/java-$key
if [ ! -d "$classes" ]; then
  made=$(mktemp -d "$cache/java-new-XXXXXX") || exit 1
  set -- "$folder"/src/*.java
  for adapter in "$folder"/src/codecs/*.java; do
    wanted=1
    for jar in $(sed -n '1s,^// needs: ,,p' "$adapter"); do
      ls "$home/lib/$jar"-[0-9]*.jar >/dev/null 2>&1 || wanted=
    done
    [ -z "$wanted" ] || set -- "$@" "$adapter"
  done
  "${bin}javac" -nowarn -proc:none -encoding UTF-8 -cp "$home/lib/*" -d "$made" "$@" >&2 || { rm -rf "$made"; exit 1; }
  # Another worker may have been quicker.
  [ -d "$classes" ] || mv "$made" "$classes" 2>/dev/null
  rm -rf "$made" "$classes/$(basename "$made")"
fi

# The parent's limit of memory (KiB) holds the heap too, or the runtime ends instead of telling.
limit=$(ulimit -d)
[ "$limit" = unlimited ] && heap=-XX:MaxRAMPercentage=50 || heap=-Xmx$((limit / 1024 * 7 / 10))m
exec "${bin}java" -XX:+UseSerialGC -XX:-UsePerfData -Xshare:auto "$heap" -Dtare.folder="$folder" \
  --add-opens=java.base/java.nio=ALL-UNNAMED \
  -cp "$classes:$home/lib/*" tare.worker.Worker 3<&0 4>&1 </dev/null 1>&2

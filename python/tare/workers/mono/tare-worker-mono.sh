#!/bin/sh
# Starts the Mono worker: compiles its sources once into the user's cache folder, and runs them. Descriptors 3 and 4
# carry the protocol, and the usual ones carry nothing of it.
#
# Newtonsoft.Json.dll is looked for where Debian's package puts it and in Mono's cache of assemblies; in the folder
# TARE_MONO_LIB alone if that is set. An adapter whose library is not there is left out; with none the codec that does
# nothing is left.
folder=$(cd "$(dirname "$0")" && pwd)
for program in mcs mono; do
  command -v "$program" >/dev/null || { echo "$program is not installed: apt-get install mono-mcs libnewtonsoft-json5.0-cil" >&2; exit 1; }
done

library=
set -- /usr/lib/cli/Newtonsoft.Json-*/Newtonsoft.Json.dll /usr/lib/mono/gac/Newtonsoft.Json/*/Newtonsoft.Json.dll
[ -z "$TARE_MONO_LIB" ] || set -- "$TARE_MONO_LIB/Newtonsoft.Json.dll"
for path; do
  [ -n "$library" ] || ! [ -f "$path" ] || library=$path
done

cache=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/tare
# A folder that others may write to would let them choose the program.
mkdir -p "$cache" 2>/dev/null && [ -w "$cache" ] || { cache=$(mktemp -d) && unkept=$cache; } || exit 1
key=$({ cat "$folder"/src/*.cs "$folder"/src/codecs/*.cs "$0" ${library:+"$library"}; echo "$library"; mcs --version; } | cksum | tr ' ' -)
program=$cache/mono-$key.exe
if [ ! -f "$program" ]; then
  made=$(mktemp -d "$cache/mono-new-XXXXXX") || exit 1
  set -- "$folder"/src/*.cs
  for adapter in "$folder"/src/codecs/*.cs; do
    if [ -n "$library" ] || ! head -n 1 "$adapter" | grep -q '^// needs: '; then set -- "$@" "$adapter"; fi
  done
  mcs -unsafe -optimize+ -langversion:7 -out:"$made/worker.exe" -r:System.Core -r:System.Numerics ${library:+"-r:$library"} "$@" >&2 ||
    { rm -rf "$made" "$unkept"; exit 1; }
  # Another worker may have been quicker: whichever is last stands, and both are the same.
  mv -f "$made/worker.exe" "$program" && rm -rf "$made"
fi

export MONO_PATH="${library:+$(dirname "$library"):}$MONO_PATH" TARE_MONO_FOLDER="$folder" TARE_MONO_REMOVE="$unkept" LC_ALL=C.UTF-8
exec mono "$program" 3<&0 4>&1 </dev/null 1>&2

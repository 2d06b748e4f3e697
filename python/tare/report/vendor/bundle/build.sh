#!/bin/sh
# Make ../vega.min.js again, byte for byte; needed only to move to another version of Vega.
set -eu
cd "$(dirname "$0")"
npm ci
npx esbuild entry.js --bundle --format=iife --global-name=vega --charset=ascii --legal-comments=none \
    --log-level=warning --outfile=bundle.js
npx terser bundle.js --compress passes=2 --mangle --comments false --format ascii_only=true --output ../vega.min.js
rm -r bundle.js node_modules

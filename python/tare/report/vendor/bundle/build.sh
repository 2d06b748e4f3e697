#!/bin/sh
# Makes ../vega.min.js again, byte for byte; needed to move to another version of Vega, or to add what a new chart needs.
set -eu
cd "$(dirname "$0")"
npm ci
node build.mjs
npx terser bundle.js --compress passes=2 --mangle --comments false --format ascii_only=true --output ../vega.min.js
rm -r bundle.js node_modules

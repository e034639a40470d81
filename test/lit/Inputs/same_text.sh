#!/bin/sh
# same_text A B: the .text sections of two executables are identical, byte for byte.
set -e
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
objcopy -O binary -j .text "$1" "$temp/a"
objcopy -O binary -j .text "$2" "$temp/b"
test -s "$temp/a" || { echo "no text section in $1"; exit 1; }
cmp "$temp/a" "$temp/b"
echo "same text: $(wc -c < "$temp/a") bytes"

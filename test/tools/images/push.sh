#!/bin/sh
# Pushes the images that make images wrote into the folder $1 to the registry that they
# are named for, by crane ($2), and prints each with its digest. That has to be the one
# that was built: an image that changes on the way is not what was checked.
set -eu
dist=$1 crane=$2
while IFS= read -r reference; do # NAME:TAG@DIGEST
  tagged=${reference%@*}
  name=${tagged##*/}
  name=${name%%:*}
  pushed=$("$crane" push "$dist/images/$name" "$tagged")
  if [ "${pushed##*@}" != "${reference##*@}" ]; then
    echo "push-images: built $reference, but the registry has $pushed" >&2
    exit 1
  fi
  echo "$reference"
done <"$dist/digests.txt"

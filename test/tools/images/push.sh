#!/bin/sh
# Pushes the images that make images wrote to the folder $1 with crane ($2), to the registry in their
# names, and prints each with its digest. Fails if the registry returns another digest than that of
# the build, because a changed image is not the one that was tested.
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

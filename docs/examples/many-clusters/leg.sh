#!/bin/sh
# One leg: the answer of one cluster, as lines of JSON with its name.
#
#   leg.sh CLUSTER FOLDER [FLAG…]
#
# It ends with 0 whenever there is an answer; status 2 is an answer, too: "unknown".
cluster=$1 folder=$2
shift 2
mkdir -p legs
status=0
kubectl k8sconnect diff --context="$cluster" -R -f "$folder" -o stream "$@" > "legs/$cluster.lines" || status=$?
jq -c --arg cluster "$cluster" '. + {cluster: $cluster}' "legs/$cluster.lines" > "legs/$cluster.json"
printf '{"type":"leg","cluster":"%s","status":%d}\n' "$cluster" "$status" >> "legs/$cluster.json"
rm "legs/$cluster.lines"

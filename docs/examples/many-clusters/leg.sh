#!/bin/sh
# Diffs one cluster, and writes the result to legs/CLUSTER.json, as lines of JSON with the cluster's name.
#
#   leg.sh CLUSTER FOLDER [FLAG…]
#
# CLUSTER is a context of the kubeconfig. The script exits with 0 whatever the exit status of diff, which
# the last line contains: 0 same, 1 different, 2 unknown.
cluster=$1 folder=$2
shift 2
mkdir -p legs
status=0
kubectl k8sconnect diff --context="$cluster" -R -f "$folder" -o stream "$@" > "legs/$cluster.lines" || status=$?
jq -c --arg cluster "$cluster" '. + {cluster: $cluster}' "legs/$cluster.lines" > "legs/$cluster.json"
printf '{"type":"leg","cluster":"%s","status":%d}\n' "$cluster" "$status" >> "legs/$cluster.json"
rm "legs/$cluster.lines"

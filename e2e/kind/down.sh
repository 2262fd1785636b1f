#!/usr/bin/env bash
# Deletes what up.sh has made.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/common.sh"
need kind
for cluster in hub "${names[@]}"; do
    kind delete cluster --name "fleet-$cluster"
done
rm -rf "$state"

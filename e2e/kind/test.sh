#!/usr/bin/env bash
# Tests what up.sh has made, first the agents in their Pods, then all that they promise.
set -euo pipefail
here=$(dirname "$0")
"$here/traffic.sh"
"$here/scenarios.sh" "$@"

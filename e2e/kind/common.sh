# What the scripts here share; to be sourced.
# shellcheck shell=bash
#
#   MEMBERS           number of members; 3, which is what the scenario tests need
#   FLEET_IMAGES      folder with hub-agent.tar and member-agent.tar, as `make image` leaves them; target/image
#   FLEET_KIND_STATE  folder for the clusters' kubeconfigs, which down.sh removes; target/kind
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

MEMBERS=${MEMBERS:-3}
FLEET_IMAGES=${FLEET_IMAGES:-target/image}
state=${FLEET_KIND_STATE:-$PWD/target/kind}
names=()
for ((number = 1; number <= MEMBERS; number++)); do
    names+=("member-$number")
done

need() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || {
            echo "$program is missing; install it and try again" >&2
            exit 1
        }
    done
}

# on CLUSTER COMMAND...: kubectl as that cluster's admin.
on() {
    local cluster=$1
    shift
    kubectl --kubeconfig "$state/$cluster.kubeconfig" "$@"
}

# Every Deployment of the charts, as "CLUSTER NAME".
deployments() {
    local name
    echo "hub hub-agent"
    for name in "${names[@]}"; do
        echo "$name member-agent"
    done
}

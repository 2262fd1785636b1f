#!/usr/bin/env bash
# Runs the scenario tests on what up.sh has made, with the agents as processes of this machine, which get what the charts
# give to their Pods. Arguments are those of the tests, for example `withdrawal::`.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/common.sh"
need kubectl cargo

if [ "$MEMBERS" -lt 3 ]; then
    echo "SKIPPED: the scenario tests need three members (MEMBERS=3 e2e/kind/up.sh)"
    exit 0
fi

scale() {
    deployments | while read -r cluster deployment; do
        on "$cluster" --namespace fleet-system scale "deployment/$deployment" --replicas "$1"
        [ "$1" -gt 0 ] || on "$cluster" --namespace fleet-system wait pod --for=delete --timeout=1m \
            --selector "app.kubernetes.io/name=$deployment"
    done
}

# The tests start agents of their own, end them and start them again; two writers would be in each other's way.
cargo build --workspace --all-targets --locked
trap 'scale 2' EXIT
scale 0
list=$(printf "$state/%s.kubeconfig," "${names[@]}")
FLEET_HUB_KUBECONFIG=$state/hub.kubeconfig FLEET_MEMBER_KUBECONFIGS=${list%,} \
    cargo test --workspace --locked --test scenarios -- "$@"

#!/usr/bin/env bash
# A hub and members as kind clusters with one Pod network, and the charts installed in them.
# Needs docker, kind, kubectl, helm and the images of `make image`. See common.sh for variables.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/common.sh"
need docker kind kubectl helm
for agent in hub-agent member-agent; do
    [ -f "$FLEET_IMAGES/$agent.tar" ] || {
        echo "$FLEET_IMAGES/$agent.tar is missing; \`make image\` makes it" >&2
        exit 1
    }
done
mkdir -p "$state"

# create CLUSTER NUMBER: ranges of addresses that no other cluster has.
create() {
    kind create cluster --name "fleet-$1" --kubeconfig "$state/$1.kubeconfig" --wait 2m --config - <<END
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
networking: {podSubnet: 10.$((20 + $2)).0.0/16, serviceSubnet: 10.$((120 + $2)).0.0/16}
END
}

node_address() {
    docker inspect --format '{{.NetworkSettings.Networks.kind.IPAddress}}' "fleet-$1-control-plane"
}

# Where a cluster's API server is for the others.
url() {
    docker inspect --format 'https://{{.NetworkSettings.Networks.kind.IPAddress}}:6443' "fleet-$1-control-plane"
}

# connect CLUSTER OTHER: the node of one finds the Pods of the other.
connect() {
    local range
    range=$(on "$2" get node "fleet-$2-control-plane" --output jsonpath='{.spec.podCIDR}')
    docker exec "fleet-$1-control-plane" ip route replace "$range" via "$(node_address "$2")"
}

install() {
    local cluster=$1 agent=$2
    shift 2
    kind load image-archive "$FLEET_IMAGES/$agent.tar" --name "fleet-$cluster"
    helm upgrade --install "$agent" "charts/$agent" --kubeconfig "$state/$cluster.kubeconfig" \
        --namespace fleet-system --create-namespace "$@"
}

number=0
for cluster in hub "${names[@]}"; do
    kind get clusters 2>/dev/null | grep --quiet --line-regexp "fleet-$cluster" || create "$cluster" "$number"
    number=$((number + 1))
done
for cluster in "${names[@]}"; do
    for other in "${names[@]}"; do
        [ "$cluster" = "$other" ] || connect "$cluster" "$other"
    done
done

list=
for name in "${names[@]}"; do
    list+="{\"name\": \"$name\"},"
done
# The scenario tests play members that have no member policy.
install hub hub-agent --set-json "members=[${list%,}]" --set policies.strict=false
authority=$(on hub config view --raw --output jsonpath='{.clusters[0].cluster.certificate-authority-data}')
for name in "${names[@]}"; do
    token=$(on hub --namespace "fleet-member-$name" create token member-agent --duration=24h | base64 --wrap=0)
    on "$name" create namespace fleet-system --dry-run=client --output yaml | on "$name" apply --filename -
    on "$name" apply --filename - <<END
apiVersion: v1
kind: Secret
metadata:
  name: hub-kubeconfig-secret
  namespace: fleet-system
data:
  token: $token
END
    install "$name" member-agent --set "config.memberClusterName=$name" --set "config.hubCA=$authority" \
        --set "config.hubURL=$(url hub)"
done
deployments | while read -r cluster deployment; do
    on "$cluster" --namespace fleet-system rollout status "deployment/$deployment" --timeout=2m
done
echo "Up. Kubeconfigs are in $state; e2e/kind/test.sh tests it, e2e/kind/down.sh ends it."

#!/usr/bin/env bash
# Tests what up.sh has made: first that a Pod of one member reaches Pods of another through the derived Service, with
# the agents of the charts; then, with the agents as processes of this machine in their place, the scenario tests.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/common.sh"
need kubectl cargo
exporter=${names[0]}
importer=${names[1]}

# Another name at each run: what an earlier one has left is not in the way.
space=traffic-$$
echo "A Pod of $importer calls a Service of $exporter"
for cluster in hub "$exporter" "$importer"; do
    on "$cluster" create namespace "$space"
done
on "$exporter" --namespace "$space" create deployment web --port 8080 --replicas 2 \
    --image registry.k8s.io/e2e-test-images/agnhost:2.53 -- /agnhost netexec --http-port 8080
on "$exporter" --namespace "$space" expose deployment web --port 80 --target-port 8080
on "$exporter" --namespace "$space" rollout status deployment/web --timeout=3m
on "$exporter" --namespace "$space" apply --filename - <<'END'
{apiVersion: networking.fleet.azure.com/v1beta1, kind: ServiceExport, metadata: {name: web}}
END
on "$importer" --namespace "$space" apply --filename - <<'END'
{apiVersion: networking.fleet.azure.com/v1alpha1, kind: MultiClusterService, metadata: {name: web}, spec: {serviceImport: {name: web}}}
END
on "$importer" --namespace "$space" wait multiclusterservice/web --for=condition=Valid --timeout=1m
derived=$(on "$importer" --namespace "$space" get multiclusterservice web \
    --output jsonpath='{.metadata.labels.networking\.fleet\.azure\.com/derived-service}')
on "$importer" --namespace "$space" run client --restart Never --image registry.k8s.io/e2e-test-images/agnhost:2.53 \
    -- connect "$derived.fleet-system.svc.cluster.local:80" --timeout 20s
on "$importer" --namespace "$space" wait pod/client --for=jsonpath='{.status.phase}'=Succeeded --timeout=3m
for cluster in "$importer" "$exporter" hub; do
    on "$cluster" delete namespace "$space"
done
echo "It does."

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
list=$(printf "$PWD/$state/%s.kubeconfig," "${names[@]}")
FLEET_HUB_KUBECONFIG=$PWD/$state/hub.kubeconfig FLEET_MEMBER_KUBECONFIGS=${list%,} \
    cargo test --workspace --locked --test scenarios -- "$@"

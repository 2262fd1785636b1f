#!/usr/bin/env bash
# Shows that a Pod of one member reaches Pods of another through the derived Service, with the agents of the charts.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/common.sh"
need kubectl
exporter=${names[0]}
importer=${names[1]}

# Another name at each run: what an earlier one has left is not in the way.
space=traffic-$$
# By its digest: a tag can be moved.
pods=registry.k8s.io/e2e-test-images/agnhost:2.53@sha256:99c6b4bb4a1e1df3f0b3752168c89358794d02258ebebc26bf21c29399011a85
echo "A Pod of $importer calls a Service of $exporter"
for cluster in hub "$exporter" "$importer"; do
    on "$cluster" create namespace "$space"
done
on "$exporter" --namespace "$space" create deployment web --port 8080 --replicas 2 \
    --image "$pods" -- /agnhost netexec --http-port 8080
on "$exporter" --namespace "$space" expose deployment web --port 80 --target-port 8080
on "$exporter" --namespace "$space" rollout status deployment/web --timeout=3m
on "$exporter" --namespace "$space" apply --filename - <<'END'
apiVersion: networking.fleet.azure.com/v1beta1
kind: ServiceExport
metadata:
  name: web
END
on "$importer" --namespace "$space" apply --filename - <<'END'
apiVersion: networking.fleet.azure.com/v1alpha1
kind: MultiClusterService
metadata:
  name: web
spec:
  serviceImport:
    name: web
END
on "$importer" --namespace "$space" wait multiclusterservice/web --for=condition=Valid --timeout=1m
derived=$(on "$importer" --namespace "$space" get multiclusterservice web \
    --output jsonpath='{.metadata.labels.networking\.fleet\.azure\.com/derived-service}')
on "$importer" --namespace "$space" run client --restart Never --image "$pods" \
    -- connect "$derived.fleet-system.svc.cluster.local:80" --timeout 20s
on "$importer" --namespace "$space" wait pod/client --for=jsonpath='{.status.phase}'=Succeeded --timeout=3m
for cluster in "$importer" "$exporter" hub; do
    on "$cluster" delete namespace "$space"
done
echo "It does."

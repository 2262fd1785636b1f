# Empty clusters.
for cluster in hub east west; do
  kubectl --context $cluster delete namespace shop fleet-system --wait=false
  kubectl --context $cluster delete crd -l app.kubernetes.io/part-of=fleet-networking
done
for cluster in hub east west; do
  kubectl --context $cluster wait --for=delete namespace/shop namespace/fleet-system --timeout=60s
done

# Empty clusters. The definitions have gone with the page before.
for cluster in hub east west; do kubectl --context $cluster delete namespace shop fleet-system --wait=false; done
for cluster in hub east west; do
  kubectl --context $cluster wait --for=delete namespace/shop namespace/fleet-system --timeout=60s
done

# A fleet of Go agents: what was made by hand, in the names of the Go charts.
kubectl --context hub delete -f charts/hub-agent/rbac.yaml
kubectl --context east delete -f charts/member-agent/rbac.yaml
kubectl --context hub -n fleet-system create deployment hub-net-controller-manager --image=go
for name in member-net-controller-manager mcs-controller-manager; do
  kubectl --context east -n fleet-system create deployment $name --image=go
done
kubectl --context east -n default create secret generic hub-kubeconfig-secret \
  --from-literal=token="$(kubectl --context hub -n fleet-member-east create token member-agent)"

# The values of a Go release, and a chart to have them.
mkdir go
printf 'apiVersion: v2\nname: go\nversion: 0.0.0\n' > go/Chart.yaml
helm install member-net-controller-manager go --kube-context east -n fleet-system \
  --set config.memberClusterName=east,config.hubURL=https://hub.example:6443,config.hubCA="$(base64 -w0 hub-ca.pem)" \
  --set image.repository=go,tlsClientInsecure=true

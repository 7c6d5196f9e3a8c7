# Show the workloads of a new mesh.
merlonctl status | grep 'httpbin-1 *yes'
kubectl get pods --all-namespaces | grep 'httpbin-1 *1/1 *Running'
merlonctl logs httpbin-1 -c app | grep listens

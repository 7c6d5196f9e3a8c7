# Call a sample from outside the mesh, and another one as a workload of the mesh.
curl --silent --fail "$HTTPBIN/headers" | grep Host
merlonctl exec consumer -n app -- xclient 2 | grep web

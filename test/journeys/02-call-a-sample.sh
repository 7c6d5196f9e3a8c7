# I call one from outside of the mesh, and one as a workload of it.
curl --silent --fail "$HTTPBIN/headers" | grep Host
merlonctl exec consumer -n app -- xclient 2 | grep web

# Run the user's own program in the mesh.
merlonctl run mine -n demo --port 8080 --expose "$PORT" -- node -e \
  'require("node:http").createServer((_, reply) => reply.end("mine\n")).listen(process.env.PORT, process.env.HOST)'
curl --silent --fail "http://127.0.0.1:$PORT/" | grep mine
merlonctl logs mine-1 -c app
merlonctl stop mine -n demo

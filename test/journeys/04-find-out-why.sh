# Find out why a request was denied.
ID=$(curl --silent --head "$HTTPBIN/headers" | tr -d '\r' | sed -n 's/^x-merlon-decision: //p')
PROXY=$(merlonctl status --output json | sed -n 's/.*"address": "\(127[0-9.]*\):15080".*/\1/p' | head -1)
curl --silent "http://$PROXY:15000/decisions/$ID" | grep require-jwt
merlonctl delete -f samples/policies/require-token.yaml -f samples/policies/request-authentication-inline.yaml

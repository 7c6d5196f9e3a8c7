# Reject requests without a token of one issuer.
merlonctl apply --wait -f samples/policies/request-authentication-inline.yaml -f samples/policies/require-token.yaml
[ "$(status "$HTTPBIN/headers")" = 403 ]
TOKEN=$(merlonctl jwt mint --key samples/keys/private.jwk.json --iss https://issuer.example --sub alice)
[ "$(status "$HTTPBIN/headers" --header "Authorization: Bearer $TOKEN")" = 200 ]
[ "$(status "$HTTPBIN/headers" --header "Authorization: Bearer ${TOKEN}x")" = 401 ]

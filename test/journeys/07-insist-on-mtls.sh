# Require mTLS, then allow plaintext again.
merlonctl apply --wait -f samples/policies/peer-strict.yaml
[ "$(status "$HTTPBIN/headers" || true)" = 000 ]
merlonctl exec consumer -n app -- xclient 2
merlonctl delete -f samples/policies/peer-strict.yaml
until [ "$(status "$HTTPBIN/headers" || true)" = 200 ]; do sleep 0.2; done

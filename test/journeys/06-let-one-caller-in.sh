# Allow only the consumer to call, and deny a caller without an identity.
merlonctl apply --wait -f samples/policies/only-consumer.yaml
[ "$(status "$HTTPBIN/headers")" = 403 ] || [ "$(status "$WEB/")" = 403 ]
merlonctl delete -f samples/policies/only-consumer.yaml

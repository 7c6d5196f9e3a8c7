# Only the consumer may call; a caller without an identity may not.
merlonctl apply --wait -f samples/policies/only-consumer.yaml
[ "$(status "$HTTPBIN/headers")" = 403 ] || [ "$(status "$WEB/")" = 403 ]
merlonctl delete -f samples/policies/only-consumer.yaml

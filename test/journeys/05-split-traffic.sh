# Send half of the calls to the new version.
merlonctl apply -f samples/policies/web-split.yaml
merlonctl exec consumer -n app -- xclient --expect v1=50,v2=50 20
merlonctl delete -f samples/policies/web-split.yaml

# Misspell a field: nothing is stored, and the error suggests the right field.
sed 's/jwtRules/jwtRule/' samples/policies/request-authentication-inline.yaml > "$SCRATCH/wrong.yaml"
if merlonctl apply -f "$SCRATCH/wrong.yaml" 2> "$SCRATCH/said"; then exit 1; fi
grep 'did you mean' "$SCRATCH/said"
if kubectl get requestauthentication jwt -n foo; then exit 1; fi

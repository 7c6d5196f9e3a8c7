# Add another machine as a workload.
merlonctl invite till-1 -n foo --label app=till --port 8080/http --control-plane "$MESH" > "$SCRATCH/word"
merlonctl join - --out "$SCRATCH/till-1" < "$SCRATCH/word"
grep till-1 "$SCRATCH/till-1/bootstrap.yaml"
if merlonctl join - --out "$SCRATCH/thief" < "$SCRATCH/word"; then exit 1; fi
merlonctl workload remove till-1 -n foo

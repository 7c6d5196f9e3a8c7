// SPDX-License-Identifier: Apache-2.0
// A mesh whose disk is full: proxies continue, everything can be read, and a write is rejected with a message. When
// there is space again everything recovers by itself. The disk is a small one in a separate mount namespace.

import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { afterAll, expect, it } from "vitest"
import { freePort } from "../../packages/cluster/src/store/testing/free-port.js"
import { ownPorts } from "../e2e/local/support/own-ports.js"

const SEPARATE = ["--mount", "--map-root-user"]

const SCRIPT = `
set -e
mount -t tmpfs -o size=64m tmpfs "$DISK"
export MERLON_DATA="$DISK/mesh" KUBECONFIG="$DISK/mesh/kubeconfig"
ctl() { node "$MERLONCTL" "$@" 2>&1; }
calls() { curl --silent --output /dev/null --header 'connection: close' --write-out '%{http_code}\\n' "http://127.0.0.1:$WAY_IN/get?[1-50]" | sort | uniq; }
trap 'ctl down >/dev/null' EXIT
cat > "$DISK/mesh.yaml" <<END
workloads:
  - { name: httpbin, namespace: foo, port: 8080, command: [node, "$HTTPBIN"], labels: { app: httpbin }, expose: $WAY_IN }
END
ctl up --detach --file "$DISK/mesh.yaml" $PORTS >/dev/null
ctl apply --wait --timeout 2m -f samples/policies/peer-permissive.yaml >/dev/null
dd if=/dev/zero of="$DISK/filler" bs=4k 2>/dev/null || true

# As long as the last page of a file has room, a small write is still taken.
annotate() { ctl patch peerauthentication default -n merlon-system --type merge -p "{\\"metadata\\":{\\"annotations\\":{\\"n\\":\\"$RANDOM\\"}}}"; }
until annotate | grep --only-matching 'nothing can be written.*No space left on device'; do sleep 0.2; done | sed 's/IO error.*: //'
calls
ctl get peerauthentication --all-namespaces | grep --count default

rm "$DISK/filler"
until ctl apply --wait --timeout 2m -f samples/policies/require-group.yaml >/dev/null; do sleep 0.5; done
calls
ctl get peerauthentication --all-namespaces | grep --count default
ctl status -o json | grep '"restarts"' | sort | uniq
`

const folder = mkdtempSync(join(tmpdir(), "full-disk-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it("serves and reads, rejects writes with a reason, and recovers (needs mount namespaces)", {
  tags: ["needs/mount-namespaces", "needs/bash", "needs/curl"],
  timeout: 600_000,
}, async () => {
  const env = {
    PATH: process.env.PATH,
    DISK: folder,
    MERLONCTL: resolve("packages/cli/bin/merlonctl.js"),
    PORTS: (await ownPorts()).join(" "),
    HTTPBIN: resolve("samples/dist/httpbin.js"),
    WAY_IN: String(await freePort()),
  }
  const child = spawn("unshare", [...SEPARATE, "bash", "-c", SCRIPT], { env, stdio: ["ignore", "pipe", "inherit"] })
  let result = ""
  child.stdout.on("data", piece => {
    result += piece
  })
  const [code] = await once(child, "close")
  expect(code).toBe(0)
  expect(result.split("\n").map(line => line.trim())).toEqual([
    "nothing can be written: No space left on device",
    ...["200", "1", "403", "1"],
    ...['"restarts": 0,', ""],
  ])
})

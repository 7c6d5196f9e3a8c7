// SPDX-License-Identifier: Apache-2.0
// The original destination of connections that nftables redirects, in a private network namespace.

import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { describe, expect, it } from "vitest"
import { loadLibc } from "./libc.js"

const MODULE = JSON.stringify(new URL("./libc.ts", import.meta.url))

/**
 * Listens on port 15001 over IPv4 and IPv6, is called at other addresses and ports, and prints the original destination
 * of each call.
 */
const PROXY = `
  import { once } from "node:events"
  import { connect, createServer } from "node:net"
  const { loadLibc } = await import(${MODULE})
  const libc = await loadLibc()
  const seen = []
  for (const [family, host, called] of [[4, "0.0.0.0", "127.0.0.9"], [6, "::", "fd00::9"]]) {
    const server = createServer().listen({ port: 15001, host, ipv6Only: family === 6 })
    await once(server, "listening")
    for (const port of [8080, 15001]) {
      const caller = connect(port, port === 8080 ? called : family === 4 ? "127.0.0.1" : "::1")
      const [socket] = await once(server, "connection")
      seen.push(libc.originalDestination(socket._handle.fd, family) ?? "none")
      caller.destroy()
      socket.destroy()
    }
    server.close()
  }
  console.log(JSON.stringify(seen))
`

const RULES = `
table inet test {
  chain output {
    type nat hook output priority -100; policy accept;
    tcp dport 8080 redirect to :15001
  }
}`

describe("the original destination", () => {
  it("is the address that the caller connected to before a redirect", { tags: ["needs/network-namespaces"] }, () => {
    const script = `
      set -e
      ip link set lo up
      ip addr add fd00::9/128 dev lo nodad
      nft -f - <<'RULES'${RULES}
RULES
      exec "$0" --import tsx --input-type=module -e "$1"`
    const result = execFileSync("unshare", ["--net", "sh", "-c", script, process.execPath, PROXY], { encoding: "utf8" })
    expect(JSON.parse(result)).toEqual([
      { address: "127.0.0.9", port: 8080 },
      { address: "127.0.0.1", port: 15_001 },
      { address: "fd00::9", port: 8080 },
      { address: "::1", port: 15_001 },
    ])
  })

  it("is unknown for a file descriptor that is not a socket", { tags: ["needs/linux"] }, async () => {
    const libc = await loadLibc()
    if ("unavailable" in libc) throw new Error(libc.unavailable)
    expect([libc.originalDestination(0, 4), libc.originalDestination(-1, 6)]).toEqual([undefined, undefined])
  })
})

it("reports why it is unavailable if koffi is not installed", { tags: ["needs/linux"] }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "libc-"))
  try {
    const outfile = join(folder, "libc.mjs")
    await build({ entryPoints: [fileURLToPath(new URL("./libc.ts", import.meta.url))], outfile })
    const program = `import(${JSON.stringify(outfile)}).then(({ loadLibc }) => loadLibc()).then(console.log)`
    const result = execFileSync(process.execPath, ["-e", program], { encoding: "utf8" })
    expect(result).toMatch(/unavailable: "Cannot find package 'koffi'/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

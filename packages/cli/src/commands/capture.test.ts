// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { iptablesRules, nftRules } from "@merlon/control/admission"
import { afterEach, beforeEach, expect, it } from "vitest"
import { programRunner } from "../run-program.js"
import { capture, captureCommand } from "./capture.js"

const MAP = [{ port: 8080, listen: 15_080 }]
let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "merlon-capture-"))
  // The fake programs below need these.
  for (const name of ["cat", "sh"]) symlinkSync(`/bin/${name}`, join(folder, name))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Creates a program of this name and makes its folder the whole PATH. */
function program(name: string, script: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
}
const run = () => capture(MAP, { mesh: "merlon" }, programRunner({ PATH: folder }))

it("hands the rules to nft", async () => {
  program("nft", `cat > ${join(folder, "rules")}`)
  expect(await run()).toBe("captured by nft: 8080 → 15080")
  expect(readFileSync(join(folder, "rules"), "utf8")).toBe(nftRules(MAP, { mesh: "merlon" }))
})

it("runs iptables for both families without nft", async () => {
  const log = join(folder, "log")
  // `-N` and `-C` fail as they do when nothing exists yet.
  for (const name of ["iptables", "ip6tables"]) {
    program(name, `echo ${name} "$@" >> ${log}\ncase "$*" in *" -C "*) exit 1;; esac`)
  }
  expect(await run()).toBe("captured by iptables: 8080 → 15080")
  const result = readFileSync(log, "utf8")
  expect(result).toContain("iptables -w -t nat -A MERLON_CAPTURE -p tcp --dport 8080 -j REDIRECT --to-ports 15080")
  expect(result).toContain("ip6tables -w -t filter -A INPUT -p tcp ! -i lo -j MERLON_CAPTURE")
  expect(iptablesRules(MAP, { mesh: "merlon" })).toContain("set -e")
})

it("fails if the rules are rejected, so that the pod does not start uncaptured", async () => {
  program("nft", "echo 'Operation not permitted' >&2; exit 1")
  await expect(run()).rejects.toThrow("the rules were not taken: Operation not permitted")
})

it("fails without nft and iptables, and says what to do", async () => {
  await expect(run()).rejects.toThrow(/neither `nft` nor `iptables`/)
})

it("reports that outbound connections are redirected too", async () => {
  program("nft", `cat > ${join(folder, "rules")}`)
  const choices = { mesh: "merlon", outbound: { port: 15_001, proxyUid: 1337 } }
  expect(await capture(MAP, choices, programRunner({ PATH: folder }))).toBe(
    "captured by nft: 8080 → 15080; outbound → 15001",
  )
  expect(readFileSync(join(folder, "rules"), "utf8")).toBe(nftRules(MAP, choices))
})

const parse = (...args: readonly string[]): Promise<unknown> =>
  captureCommand()
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .parseAsync(["node", "capture", "--print", ...args])

it.each(["8080", "8080:15080,8080:15081", "15080:15081", "0:15080", "a:b"])("rejects the map `%s`", map =>
  expect(parse("--map", map)).rejects.toThrow(/--map/),
)

it.each([
  [["--outbound", "0"], /--outbound/],
  [["--outbound", "65536"], /--outbound/],
  [["--outbound", "15080"], /15080 is a port of --map/],
  [["--outbound", "8080"], /8080 is a port of --map/],
  [["--outbound", "15001", "--proxy-uid", "0"], /--proxy-uid/],
  [["--outbound", "15001", "--proxy-uid", "4294967295"], /--proxy-uid/],
  [["--outbound", "15001", "--exclude-outbound-ports", "dns"], /`dns` is not a port/],
  [["--outbound", "15001", "--exclude-outbound-cidrs", "10.0.0.0/99"], /`10.0.0.0\/99` is not a CIDR block/],
  [["--outbound", "15001", "--include-outbound-cidrs", ""], /is not a CIDR block/],
  [["--proxy-uid", "1337"], /--proxy-uid needs --outbound/],
  [["--exclude-outbound-ports", "25"], /--exclude-outbound-ports needs --outbound/],
  [["--exclude-outbound-cidrs", "10.0.0.0/8"], /--exclude-outbound-cidrs needs --outbound/],
  [["--include-outbound-cidrs", "10.0.0.0/8"], /--include-outbound-cidrs needs --outbound/],
])("rejects %j", (flags, because) => expect(parse("--map", "8080:15080", ...flags)).rejects.toThrow(because))

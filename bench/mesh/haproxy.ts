// SPDX-License-Identifier: Apache-2.0
// HAProxy on both sides; both require certificates of the same authority. It cannot compare `spiffe://` names, so it
// checks less than the others, and it sends no SNI, because it would require that as a name of the server. Between the
// proxies, requests use the application's HTTP version.

import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { HAPROXY_GLOBAL, haproxyTokenChecks } from "../proxy/peers.js"
import { programPath } from "../proxy/running.js"
import type { Commands, Pair, PairOptions } from "./pairs.js"
import { isHttp2 } from "./work.js"

export const haproxyPair: Pair = {
  name: "HAProxy",
  program: programPath("haproxy"),
  isHttpProxy: false,
  can: () => true,
  commands,
}

function commands({ scenario, site, upstream, inbound: listen, outbound: out, folder }: PairOptions): Commands {
  const http2 = isHttp2(scenario)
  const [clear, secured] = http2 ? [" proto h2", " alpn h2"] : ["", ""]
  const checks = scenario.token ? haproxyTokenChecks(folder) : ""
  const trust = `ca-file ${folder}/ca.pem verify required`
  const inbound = `frontend in
  bind ${site.server}:${listen} ssl crt ${folder}/server-both.pem ${trust}${secured}${checks}
  default_backend app
backend app
  http-reuse always
  server app 127.0.0.1:${upstream}${clear}
`
  const outbound = `frontend out
  bind 127.0.0.1:${out}${clear}
  default_backend mesh
backend mesh
  http-reuse always
  server mesh ${site.server}:${listen} ssl crt ${folder}/client-both.pem ${trust}${secured}
`
  const command = (name: string, text: string): readonly string[] => {
    const file = join(folder, `${site.name}-haproxy-${name}.cfg`)
    writeFileSync(file, HAPROXY_GLOBAL + text)
    return [haproxyPair.program ?? "haproxy", "-f", file, "-db"]
  }
  if (scenario.together === true) return { caller: command("both", inbound + outbound) }
  return { caller: command("caller", outbound), server: command("server", inbound) }
}

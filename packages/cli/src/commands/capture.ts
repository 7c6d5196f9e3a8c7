// SPDX-License-Identifier: Apache-2.0
// `merlond capture`: redirects a Pod's inbound connections to its xserver, and on request its outbound calls to its
// proxy, in the Pod's own network. Injection with `--capture redirect` adds it as an init container.

import {
  type CaptureChoices,
  type CapturedPort,
  type CidrBlock,
  iptablesRules,
  nftRules,
  type OutboundCapture,
  parseCaptureMap,
  parseCidrList,
  parsePortList,
} from "@merlon/control/admission"
import { XSERVER_UID } from "@merlon/control/registry"
import { Command, InvalidArgumentError, Option } from "commander"
import { whole } from "../arguments.js"
import { programRunner, type RunProgram } from "../run-program.js"

interface Flags extends Omit<CaptureChoices, "outbound">, OutboundFlags {
  readonly map: readonly CapturedPort[]
  readonly print: boolean
}

interface OutboundFlags {
  readonly outbound?: number
  readonly proxyUid?: number
  readonly excludeOutboundPorts?: readonly number[]
  readonly excludeOutboundCidrs?: readonly CidrBlock[]
  readonly includeOutboundCidrs?: readonly CidrBlock[]
}

/** The largest user id in Linux; the value above it means "no user". */
const MAX_UID = 4_294_967_294

export function captureCommand(): Command {
  return new Command("capture")
    .description("Redirect the connections of a Pod to its proxy (needs NET_ADMIN)")
    .addOption(
      new Option("--map <pairs>", "application ports with xserver's ports, such as 8080:15080,9090:15081")
        .argParser(parsed(parseCaptureMap))
        .makeOptionMandatory(),
    )
    .addOption(new Option("--mesh <word>", "name of the mesh, for the rules").env("MERLON_MESH").default("merlon"))
    .addOption(
      new Option("--undeclared <how>", "connections to other ports: reject them, or pass them without judging")
        .choices(["refuse", "pass"])
        .default("refuse"),
    )
    .addOption(
      new Option("--udp <how>", "inbound UDP except responses: pass it without judging, or block it")
        .choices(["pass", "refuse"])
        .default("pass"),
    )
    .addOption(
      new Option(
        "--outbound <port>",
        "redirect the Pod's outbound TCP connections to this port of its proxy",
      ).argParser(whole(1, 65_535)),
    )
    .addOption(
      new Option("--proxy-uid <uid>", `user whose connections are not redirected (default: ${XSERVER_UID})`).argParser(
        whole(1, MAX_UID),
      ),
    )
    .addOption(
      new Option("--exclude-outbound-ports <ports>", "destination ports to exclude, such as 5432,6379").argParser(
        parsed(parsePortList),
      ),
    )
    .addOption(
      new Option("--exclude-outbound-cidrs <blocks>", "destinations to exclude, such as 10.0.0.0/8,fd00::/8").argParser(
        parsed(parseCidrList),
      ),
    )
    .addOption(
      new Option("--include-outbound-cidrs <blocks>", "redirect only these destinations (default: all)").argParser(
        parsed(parseCidrList),
      ),
    )
    .option("--print", "print the rules and change nothing", false)
    .action(async ({ map, print, mesh, undeclared, udp, ...flags }: Flags) => {
      const choices = { mesh, undeclared, udp, outbound: outboundOf(flags, map) }
      if (print) process.stdout.write(nftRules(map, choices))
      else process.stdout.write(`${await capture(map, choices, programRunner(process.env))}\n`)
    })
}

/** Reports the redirection. Fails if it is not possible: a Pod whose traffic is not captured must not start. */
export async function capture(map: readonly CapturedPort[], choices: CaptureChoices, run: RunProgram): Promise<string> {
  const inbound = map.map(({ port, listen }) => `${port} → ${listen}`).join(", ") || "no port"
  const captured = choices.outbound === undefined ? inbound : `${inbound}; outbound → ${choices.outbound.port}`
  for (const [program, args, rules] of [
    ["nft", ["-f", "-"], nftRules(map, choices)],
    ["sh", [], iptablesRules(map, choices)],
  ] as const) {
    if (program === "sh" && !(await run("iptables", ["--version"], "")).found) break
    const { found, code, errors } = await run(program, args, rules)
    if (!found) continue
    if (code !== 0) throw new Error(`the rules were not taken: ${errors.trim() || `exit code ${code}`}`)
    return `captured by ${program === "sh" ? "iptables" : program}: ${captured}`
  }
  throw new Error("neither `nft` nor `iptables` is here; add one of them to the image, or use `--capture service`")
}

/** Flags that limit the outbound redirection have no effect without it, so they are an error then. */
function outboundOf(flags: OutboundFlags, map: readonly CapturedPort[]): OutboundCapture | undefined {
  const { outbound: port, proxyUid, excludeOutboundPorts, excludeOutboundCidrs, includeOutboundCidrs } = flags
  if (port === undefined) {
    const [alone] = Object.entries(flags).flatMap(([name, value]) => (value === undefined ? [] : [name]))
    if (alone === undefined) return undefined
    throw new Error(`--${kebab(alone)} needs --outbound, the port that connections are redirected to`)
  }
  if (map.some(pair => pair.port === port || pair.listen === port)) {
    throw new Error(`--outbound: ${port} is a port of --map; the proxy needs another one for outbound connections`)
  }
  return {
    port,
    proxyUid: proxyUid ?? XSERVER_UID,
    excludePorts: excludeOutboundPorts,
    excludeCidrs: excludeOutboundCidrs,
    includeCidrs: includeOutboundCidrs,
  }
}

const kebab = (name: string): string => name.replaceAll(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)

/** Turns a parser that returns its error as text into one that throws. */
function parsed<T>(read: (text: string) => T | string): (text: string) => T {
  return text => {
    const value = read(text)
    if (typeof value === "string") throw new InvalidArgumentError(value)
    return value
  }
}

// SPDX-License-Identifier: Apache-2.0
// The rules that redirect every inbound connection of a Pod to xserver. Loopback traffic, including xserver's calls to
// the application, is unaffected. Outbound TCP connections are redirected only on request. No policy covers UDP, so a
// mesh may block it: then only responses to the Pod's own requests (DNS, for example) are accepted. Applying the rules
// twice has the same effect as once.

import type { Udp } from "../registry/udp.js"
import { HEALTH_PORT, isReservedPort, MAX_PORTS } from "./injection-options.js"
import { type CidrBlock, DNS_PORT, type OutboundCapture } from "./outbound-capture.js"

export interface CapturedPort {
  readonly port: number
  readonly listen: number
}

/** What happens to connections to ports that no container declares. */
export type Undeclared = "refuse" | "pass"

export interface CaptureChoices {
  /** The name of the mesh. */
  readonly mesh: string
  /** Default: `refuse`. */
  readonly undeclared?: Undeclared | undefined
  /** Default: `pass`. */
  readonly udp?: Udp | undefined
  /** Outbound connections are not redirected if undefined. */
  readonly outbound?: OutboundCapture | undefined
}

const MAP = /^\d{1,5}:\d{1,5}(,\d{1,5}:\d{1,5})*$/

/** Parses the map of the command line; returns a string with the error if it is invalid. */
export function parseCaptureMap(text: string): readonly CapturedPort[] | string {
  if (text === "") return []
  if (!MAP.test(text)) return `\`${text.slice(0, 100)}\` is not a list of PORT:LISTEN pairs`
  const ports = text.split(",").map(pair => {
    const [port = 0, listen = 0] = pair.split(":").map(Number)
    return { port, listen }
  })
  if (ports.length > MAX_PORTS) return `more than ${MAX_PORTS} ports`
  for (const { port, listen } of ports) {
    if (port < 1 || port > 65_535 || isReservedPort(port)) return `${port} is not allowed as an application port`
    if (listen < 1 || listen > 65_535) return `${listen} is not a port`
  }
  const distinct = (values: readonly number[]): boolean => new Set(values).size === values.length
  if (!distinct(ports.map(({ port }) => port)) || !distinct(ports.map(({ listen }) => listen))) {
    return "a port is listed twice"
  }
  return ports
}

/** Input for `nft -f -`: one transaction for IPv4 and IPv6, which replaces earlier rules. */
export function nftRules(ports: readonly CapturedPort[], { mesh, undeclared, udp, outbound }: CaptureChoices): string {
  const table = `inet ${tableName(mesh)}`
  const redirect = ports.map(({ port, listen }) => `${port} : ${listen}`).join(", ")
  const listening = [...ports.map(({ listen }) => listen), HEALTH_PORT].join(", ")
  return [
    // Declaring the table first makes its deletion safe if it does not exist.
    `table ${table}`,
    `delete table ${table}`,
    `table ${table} {`,
    "  chain prerouting {",
    "    type nat hook prerouting priority dstnat; policy accept;",
    ...(ports.length === 0 ? [] : [`    iifname != "lo" meta l4proto tcp redirect to :tcp dport map { ${redirect} }`]),
    "  }",
    "  chain input {",
    "    type filter hook input priority filter; policy accept;",
    '    iifname "lo" accept',
    "    ct state established,related accept",
    `    tcp dport { ${listening} } accept`,
    // Fail closed: an undeclared port must not become a path around xserver.
    ...(undeclared === "pass" ? [] : ["    meta l4proto tcp reject with tcp reset"]),
    ...(udp === "refuse" ? ["    meta l4proto udp drop"] : []),
    "  }",
    ...(outbound === undefined ? [] : nftOutput(outbound)),
    "}",
    "",
  ].join("\n")
}

/** A redirected outbound connection arrives on loopback: 127.0.0.1, or ::1 over IPv6. */
function nftOutput(outbound: OutboundCapture): readonly string[] {
  const { port, proxyUid, excludePorts = [], excludeCidrs = [], includeCidrs } = outbound
  const to = ({ family, text }: CidrBlock): string => `${family === 4 ? "ip" : "ip6"} daddr ${text}`
  const redirect = `meta l4proto tcp redirect to :${port}`
  return [
    "  chain output {",
    "    type nat hook output priority -100; policy accept;",
    '    oifname "lo" accept',
    ...LOOPBACK.map(block => `    ${to(block)} accept`),
    // INVARIANT: the proxy's own connections come first, otherwise the proxy would call itself in an endless loop.
    `    meta skuid ${proxyUid} accept`,
    `    tcp dport { ${unredirected(excludePorts).join(", ")} } accept`,
    ...excludeCidrs.map(block => `    ${to(block)} accept`),
    ...(includeCidrs?.map(block => `    ${to(block)} ${redirect}`) ?? [`    ${redirect}`]),
    "  }",
  ]
}

/** The same rules for systems that only have iptables, as a shell script. */
export function iptablesRules(
  ports: readonly CapturedPort[],
  { mesh, undeclared, udp, outbound }: CaptureChoices,
): string {
  const chain = tableName(mesh).toUpperCase()
  const listening = [...ports.map(({ listen }) => listen), HEALTH_PORT]
  const rules = (command: string, family: 4 | 6): readonly string[] => [
    `${command} -t nat -N ${chain} 2>/dev/null || ${command} -t nat -F ${chain}`,
    ...ports.map(
      ({ port, listen }) => `${command} -t nat -A ${chain} -p tcp --dport ${port} -j REDIRECT --to-ports ${listen}`,
    ),
    jump(command, "nat", "PREROUTING", chain),
    `${command} -t filter -N ${chain} 2>/dev/null || ${command} -t filter -F ${chain}`,
    `${command} -t filter -A ${chain} -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN`,
    ...listening.map(port => `${command} -t filter -A ${chain} -p tcp --dport ${port} -j RETURN`),
    ...(undeclared === "pass" ? [] : [`${command} -t filter -A ${chain} -p tcp -j REJECT --reject-with tcp-reset`]),
    jump(command, "filter", "INPUT", chain),
    ...(udp === "refuse"
      ? [`${command} -t filter -A ${chain} -p udp -j DROP`, jump(command, "filter", "INPUT", chain, "udp")]
      : []),
    ...(outbound === undefined ? [] : iptablesOutput(command, family, outputChain(mesh), outbound)),
  ]
  return ["set -e", ...rules("iptables -w", 4), ...rules("ip6tables -w", 6), ""].join("\n")
}

function iptablesOutput(command: string, family: 4 | 6, chain: string, outbound: OutboundCapture): readonly string[] {
  const { port, proxyUid, excludePorts = [], excludeCidrs = [], includeCidrs } = outbound
  const to = (blocks: readonly CidrBlock[]): readonly string[] =>
    blocks.filter(block => block.family === family).map(({ text }) => `-d ${text} `)
  const add = `${command} -t nat -A ${chain}`
  return [
    `${command} -t nat -N ${chain} 2>/dev/null || ${command} -t nat -F ${chain}`,
    ...to(LOOPBACK).map(destination => `${add} ${destination}-j RETURN`),
    `${add} -m owner --uid-owner ${proxyUid} -j RETURN`,
    ...unredirected(excludePorts).map(excluded => `${add} -p tcp --dport ${excluded} -j RETURN`),
    ...to(excludeCidrs).map(destination => `${add} ${destination}-j RETURN`),
    ...(includeCidrs === undefined ? [""] : to(includeCidrs)).map(
      destination => `${add} ${destination}-p tcp -j REDIRECT --to-ports ${port}`,
    ),
    jump(command, "nat", "OUTPUT", chain),
  ]
}

const LOOPBACK: readonly CidrBlock[] = [
  { family: 4, text: "127.0.0.0/8" },
  { family: 6, text: "::1/128" },
]

function unredirected(excluded: readonly number[]): readonly number[] {
  return [DNS_PORT, ...excluded.filter(port => port !== DNS_PORT)]
}

function jump(command: string, table: string, from: string, chain: string, protocol = "tcp"): string {
  const rule = `${from} -p ${protocol} ! ${from === "OUTPUT" ? "-o" : "-i"} lo -j ${chain}`
  return `${command} -t ${table} -C ${rule} 2>/dev/null || ${command} -t ${table} -A ${rule}`
}

function tableName(mesh: string): string {
  return `${prefixOf(mesh)}_capture`
}

function outputChain(mesh: string): string {
  return `${prefixOf(mesh)}_output`.toUpperCase()
}

/** Shortened, because the kernel limits the names of chains to 28 characters. */
function prefixOf(mesh: string): string {
  return mesh.replaceAll("-", "_").slice(0, 16)
}

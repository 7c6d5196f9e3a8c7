// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest"
import { captureMap } from "../registry/application-ports.js"
import { iptablesRules, nftRules, parseCaptureMap } from "./capture-rules.js"

const MERLON = { mesh: "merlon" }
const PORTS = [
  { port: 8080, listen: 15080 },
  { port: 9090, listen: 15081 },
]

describe("the capture map", () => {
  it("survives a round trip", () => {
    expect(captureMap(PORTS)).toBe("8080:15080,9090:15081")
    expect(parseCaptureMap(captureMap(PORTS))).toEqual(PORTS)
    expect(parseCaptureMap("")).toEqual([])
  })

  it.each([
    "x",
    "8080",
    "8080:15080,",
    "8080:15080;reboot",
    "0:15080",
    "70000:15080",
    "8080:0",
    "15021:15080",
    "1:2,1:3",
    "1:2,3:2",
    Array.from({ length: 21 }, (_, at) => `${at + 1}:${at + 20000}`).join(),
  ])("rejects `%s`", text => {
    expect(parseCaptureMap(text)).toBeTypeOf("string")
  })
})

describe("the rules", () => {
  it("replace themselves in one transaction, ignore loopback and reject other TCP ports", () => {
    expect(nftRules(PORTS, MERLON)).toBe(`table inet merlon_capture
delete table inet merlon_capture
table inet merlon_capture {
  chain prerouting {
    type nat hook prerouting priority dstnat; policy accept;
    iifname != "lo" meta l4proto tcp redirect to :tcp dport map { 8080 : 15080, 9090 : 15081 }
  }
  chain input {
    type filter hook input priority filter; policy accept;
    iifname "lo" accept
    ct state established,related accept
    tcp dport { 15080, 15081, 15021 } accept
    meta l4proto tcp reject with tcp reset
  }
}
`)
  })

  it("redirect nothing without a port, and still reject all connections", () => {
    expect(nftRules([], MERLON)).not.toContain("redirect")
    expect(nftRules([], MERLON)).toContain("tcp dport { 15021 } accept")
  })

  it("are the same for iptables in both families, and jump only once", () => {
    const lines = iptablesRules(PORTS, MERLON).split("\n")
    const four = lines.filter(line => line.startsWith("iptables"))
    expect(lines.filter(line => line.startsWith("ip6tables"))).toEqual(
      four.map(line => line.replaceAll("iptables", "ip6tables")),
    )
    expect(four).toContain("iptables -w -t nat -A MERLON_CAPTURE -p tcp --dport 8080 -j REDIRECT --to-ports 15080")
    expect(four.filter(line => line.includes(" -j MERLON_CAPTURE"))).toEqual([
      "iptables -w -t nat -C PREROUTING -p tcp ! -i lo -j MERLON_CAPTURE 2>/dev/null || iptables -w -t nat -A PREROUTING -p tcp ! -i lo -j MERLON_CAPTURE",
      "iptables -w -t filter -C INPUT -p tcp ! -i lo -j MERLON_CAPTURE 2>/dev/null || iptables -w -t filter -A INPUT -p tcp ! -i lo -j MERLON_CAPTURE",
    ])
    expect(four.at(-2)).toBe("iptables -w -t filter -A MERLON_CAPTURE -p tcp -j REJECT --reject-with tcp-reset")
  })

  it("drop UDP on request, except responses to the Pod's own requests", () => {
    const rejecting = nftRules(PORTS, { ...MERLON, udp: "refuse" })
    expect(rejecting.replace("    meta l4proto udp drop\n", "")).toBe(nftRules(PORTS, MERLON))
    const input = rejecting.slice(rejecting.indexOf("chain input"))
    expect(input.indexOf("ct state established,related accept")).toBeLessThan(input.indexOf("meta l4proto udp drop"))
    expect(nftRules(PORTS, { ...MERLON, undeclared: "pass", udp: "refuse" })).toContain("meta l4proto udp drop")
    expect(nftRules(PORTS, { ...MERLON, udp: "pass" })).toBe(nftRules(PORTS, MERLON))
  })

  it("drop UDP by iptables in both families, and add only that", () => {
    const passing = new Set(iptablesRules(PORTS, MERLON).split("\n"))
    const added = iptablesRules(PORTS, { ...MERLON, udp: "refuse" })
      .split("\n")
      .filter(line => !passing.has(line))
    expect(added).toEqual(
      ["iptables", "ip6tables"].flatMap(command => [
        `${command} -w -t filter -A MERLON_CAPTURE -p udp -j DROP`,
        `${command} -w -t filter -C INPUT -p udp ! -i lo -j MERLON_CAPTURE 2>/dev/null || ${command} -w -t filter -A INPUT -p udp ! -i lo -j MERLON_CAPTURE`,
      ]),
    )
  })
})

describe("outbound rules", () => {
  const OUTBOUND = { port: 15_001, proxyUid: 1337 }
  const LIMITED = {
    ...OUTBOUND,
    excludePorts: [5432, 53],
    excludeCidrs: [
      { family: 4, text: "10.0.0.0/8" },
      { family: 6, text: "fd00::/8" },
    ],
    includeCidrs: [
      { family: 6, text: "2001:db8::/32" },
      { family: 4, text: "192.0.2.0/24" },
    ],
  } as const
  const output = (rules: string): string => rules.slice(rules.indexOf("  chain output"))

  it("redirect all TCP except loopback, the proxy's own and DNS", () => {
    const rules = nftRules(PORTS, { ...MERLON, outbound: OUTBOUND })
    expect(output(rules)).toBe(`  chain output {
    type nat hook output priority -100; policy accept;
    oifname "lo" accept
    ip daddr 127.0.0.0/8 accept
    ip6 daddr ::1/128 accept
    meta skuid 1337 accept
    tcp dport { 53 } accept
    meta l4proto tcp redirect to :15001
  }
}
`)
  })

  it("do not change the inbound rules", () => {
    const rules = nftRules(PORTS, { ...MERLON, outbound: OUTBOUND })
    expect(`${rules.slice(0, rules.indexOf("  chain output"))}}\n`).toBe(nftRules(PORTS, MERLON))
    const inbound = iptablesRules(PORTS, MERLON).split("\n")
    const both = iptablesRules(PORTS, { ...MERLON, outbound: OUTBOUND }).split("\n")
    expect(both.filter(line => !line.includes("OUTPUT"))).toEqual(inbound)
  })

  it("skip excluded destinations before they redirect included ones", () => {
    expect(output(nftRules(PORTS, { ...MERLON, outbound: LIMITED }))).toContain(`    tcp dport { 53, 5432 } accept
    ip daddr 10.0.0.0/8 accept
    ip6 daddr fd00::/8 accept
    ip6 daddr 2001:db8::/32 meta l4proto tcp redirect to :15001
    ip daddr 192.0.2.0/24 meta l4proto tcp redirect to :15001
  }
`)
  })

  it("are the same for iptables, each family with its own blocks", () => {
    const lines = iptablesRules(PORTS, { ...MERLON, outbound: LIMITED }).split("\n")
    const added = (command: string) => lines.filter(line => line.startsWith(command) && line.includes("OUTPUT"))
    const expected = (command: string, loopback: string, excluded: string, included: string) => [
      `${command} -w -t nat -N MERLON_OUTPUT 2>/dev/null || ${command} -w -t nat -F MERLON_OUTPUT`,
      ...[
        `-d ${loopback} -j RETURN`,
        "-m owner --uid-owner 1337 -j RETURN",
        "-p tcp --dport 53 -j RETURN",
        "-p tcp --dport 5432 -j RETURN",
        `-d ${excluded} -j RETURN`,
        `-d ${included} -p tcp -j REDIRECT --to-ports 15001`,
      ].map(rule => `${command} -w -t nat -A MERLON_OUTPUT ${rule}`),
      `${command} -w -t nat -C OUTPUT -p tcp ! -o lo -j MERLON_OUTPUT 2>/dev/null || ${command} -w -t nat -A OUTPUT -p tcp ! -o lo -j MERLON_OUTPUT`,
    ]
    expect(added("iptables")).toEqual(expected("iptables", "127.0.0.0/8", "10.0.0.0/8", "192.0.2.0/24"))
    expect(added("ip6tables")).toEqual(expected("ip6tables", "::1/128", "fd00::/8", "2001:db8::/32"))
  })

  it("redirect everything with iptables if no block is included", () => {
    const lines = iptablesRules(PORTS, { ...MERLON, outbound: OUTBOUND }).split("\n")
    expect(lines.filter(line => line.endsWith("MERLON_OUTPUT -p tcp -j REDIRECT --to-ports 15001"))).toHaveLength(2)
  })

  it("keep the names of chains short enough for the kernel", () => {
    const rules = iptablesRules(PORTS, { mesh: "a".repeat(40), outbound: OUTBOUND })
    const chains = [...rules.matchAll(/ -N (\S+)/g)].map(([, chain = ""]) => chain.length)
    expect(chains.length).toBeGreaterThan(0)
    expect(Math.max(...chains)).toBeLessThan(29)
  })
})

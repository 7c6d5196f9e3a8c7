// SPDX-License-Identifier: Apache-2.0
// The cost of one decision by number of rules: ours and the naive evaluator's from the same run, in nanoseconds of CPU.
// Rules mix exact principals with path prefixes, path templates, claims, address blocks and methods; requests match
// either one of the rules or none. Paths are new strings each time, as from a socket.

import { type Attributes, type AuthorizationPolicy, compile, decide, meshConfig, type Program } from "@merlon/policy"
import { naiveDecide } from "../packages/policy/src/authorization/testing/oracle.js"
import { type Asked, httpRequest, policy, workload } from "../packages/policy/src/authorization/testing/requests.js"
import { type Measured, measure, ratio, table } from "./measure.js"
import { tokenCosts } from "./policy-tokens.js"

const mesh = meshConfig()
const SIZES = [1, 10, 100, 1_000, 10_000]
const RULES_PER_POLICY = 500
const BATCH = 500

type Rule = NonNullable<AuthorizationPolicy["spec"]["rules"]>[number]
type Shape = { readonly rule: Rule; readonly hit: Asked }

const SHAPES: readonly ((n: number) => Shape)[] = [
  n => ({
    rule: {
      from: [{ source: { principals: [`cluster.local/ns/team-${n}/sa/app`] } }],
      to: [{ operation: { paths: [`/v1/service-${n}*`] } }],
    },
    hit: { peer: `cluster.local/ns/team-${n}/sa/app`, target: `/v1/service-${n}/items?page=2` },
  }),
  n => ({
    rule: { to: [{ operation: { methods: ["GET"], paths: [`/tenants/{*}/orders-${n}/{**}`] } }] },
    hit: { target: `/tenants/acme/orders-${n}/2026/11` },
  }),
  n => ({
    rule: {
      from: [{ source: { requestPrincipals: ["https://issuer.example/*"] } }],
      when: [{ key: "request.auth.claims[groups]", values: [`group-${n}`] }],
    },
    hit: { claims: { iss: "https://issuer.example", sub: "alice", groups: ["staff", `group-${n}`] }, target: "/" },
  }),
  n => ({
    rule: { from: [{ source: { ipBlocks: [`172.${16 + (n % 16)}.${(n >> 4) % 256}.${(n >> 12) * 16}/28`] } }] },
    hit: { from: `172.${16 + (n % 16)}.${(n >> 4) % 256}.${(n >> 12) * 16 + 3}`, target: "/metrics" },
  }),
  n => ({
    rule: { from: [{ source: { requestPrincipals: [`https://issuer.example/user-${n}`] } }] },
    hit: { claims: { iss: "https://issuer.example", sub: `user-${n}` }, target: `/home/user-${n}` },
  }),
]

const MISSES: readonly Asked[] = [
  { peer: "cluster.local/ns/nobody/sa/app", target: "/v1/unknown/items" },
  { peer: "cluster.local/ns/nobody/sa/app", target: "/tenants/acme/invoices/7" },
  { claims: { iss: "https://issuer.example", sub: "mallory", groups: ["guests", "visitors"] }, target: "/" },
  { from: "192.168.7.7", target: "/metrics" },
  { method: "POST", claims: { iss: "https://other.example", sub: "bob" }, target: "/home/bob" },
]

function workloadWith(size: number): {
  documents: readonly AuthorizationPolicy[]
  program: Program
  hits: readonly Asked[]
} {
  const shapes = Array.from({ length: size }, (_, n) => {
    const shape = SHAPES[n % SHAPES.length]
    if (shape === undefined) throw new RangeError("no shape")
    return shape(n)
  })
  const documents: AuthorizationPolicy[] = []
  for (let from = 0; from < size; from += RULES_PER_POLICY) {
    const rules = shapes.slice(from, from + RULES_PER_POLICY).map(({ rule }) => rule)
    documents.push(policy(`rules-${from}`, { action: "ALLOW", rules }))
  }
  const hits = Array.from({ length: 256 }, (_, i) => shapes[Math.floor((i * size) / 256)]?.hit ?? {})
  return { documents, program: compile(documents, workload, mesh), hits }
}

function cost(
  requests: readonly Asked[],
  batch: number,
  verdict: "allow" | "deny",
  one: (a: Attributes) => { verdict: string },
): Measured {
  const templates = requests.map(asked => httpRequest(asked))
  let at = 0
  return measure({
    batch,
    prepare: () =>
      Array.from({ length: batch }, () => {
        const template = templates[at++ % templates.length]
        if (template?.http === undefined) throw new RangeError("no request")
        const path = Buffer.from(template.http.path, "latin1").toString("latin1")
        return { ...template, http: { ...template.http, path } }
      }),
    run(prepared) {
      for (const attributes of prepared) {
        if (one(attributes).verdict !== verdict) throw new Error(`expected ${verdict}`)
      }
    },
  })
}

const rows = SIZES.map(rules => {
  const { documents, program, hits } = workloadWith(rules)
  const naiveBatch = Math.max(1, Math.floor(BATCH / Math.max(1, rules / 10)))
  const ours = (a: Attributes) => decide(program, a)
  const naive = (a: Attributes) => naiveDecide(documents, a, mesh)
  return {
    rules,
    hit: cost(hits, BATCH, "allow", ours).nanoseconds,
    miss: cost(MISSES, BATCH, "deny", ours).nanoseconds,
    missWithReason: cost(MISSES, naiveBatch, "deny", a => {
      const decision = decide(program, a)
      if (decision.nearest === undefined) throw new Error("no nearest rule")
      return decision
    }).nanoseconds,
    naiveHit: cost(hits, naiveBatch, "allow", naive).nanoseconds,
    naiveMiss: cost(MISSES, naiveBatch, "deny", naive).nanoseconds,
  }
})

const of = (rules: number) => rows.find(row => row.rules === rules)
const growth = {
  hit: ratio(of(10_000)?.hit, of(10)?.hit),
  miss: ratio(of(10_000)?.miss, of(10)?.miss),
}
const tokens = await tokenCosts()

if (process.argv.includes("--json")) {
  console.log(JSON.stringify({ unit: "ns of CPU", decisions: rows, growthFrom10To10000: growth, tokens }))
} else {
  console.log("One decision, in nanoseconds of CPU (naive: the evaluator our tests compare with)\n")
  console.log(
    table(
      ["rules", "hit", "naive hit", "ratio", "miss", "naive miss", "ratio", "miss and why"],
      rows.map(row => [
        row.rules,
        row.hit,
        row.naiveHit,
        ratio(row.hit, row.naiveHit),
        row.miss,
        row.naiveMiss,
        ratio(row.miss, row.naiveMiss),
        row.missWithReason,
      ]),
    ),
  )
  console.log(`\n10,000 rules cost ${growth.hit} times what 10 rules cost on a hit, ${growth.miss} times on a miss`)
  console.log("\nOne token, in nanoseconds of CPU: remembered, and with its signature checked\n")
  console.log(
    table(
      ["algorithm", "bytes", "remembered", "checked", "ratio"],
      tokens.map(({ algorithm, bytes, remembered, checked }) => [
        algorithm,
        bytes,
        remembered,
        checked,
        ratio(remembered, checked),
      ]),
    ),
  )
}

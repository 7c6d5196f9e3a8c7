// SPDX-License-Identifier: Apache-2.0
// A second oracle for proofs: z3 decides whether two random policy sets treat some request differently. It shares no
// code with the prover. Only `npm run test:long` runs it.
// @module-tag needs/z3

import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import fc from "fast-check"
import { afterAll, expect, inject, it } from "vitest"
import { meshConfig } from "../../packages/policy/src/mesh/config.js"
import { compareSets } from "../../packages/policy/src/proof/questions/compare.js"
import type { Condition, Rule } from "../../packages/policy/src/resources/authorization-policy/definition.js"
import type { PolicyDocument } from "../../packages/policy/src/resources/document.js"
import { type Mode, questionOf, type SmallSet } from "./support/smt-text.js"

const SETS = 300
/** z3 may take 20 seconds for a question that it does not decide. */
const MAX_MS = 30 * 60_000
const apiVersion = "security.merlon.dev/v1alpha3"
const creationTimestamp = "2026-01-01T00:00:00Z"
const workload = { namespace: "foo", name: "web-1", labels: { app: "web" } }
const mesh = meshConfig()

const pick = <T>(...values: T[]) => fc.constantFrom(...values)
const some = (value: fc.Arbitrary<string>) => fc.array(value, { minLength: 1, maxLength: 2 })
const fields = (entries: Record<string, fc.Arbitrary<string>>) =>
  fc.record(
    Object.fromEntries(
      Object.entries(entries).flatMap(([name, value]) => [
        [name, some(value)],
        [`not${name.charAt(0).toUpperCase()}${name.slice(1)}`, some(value)],
      ]),
    ),
    { requiredKeys: [] },
  )

const addresses = {
  ipBlocks: pick("10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "0.0.0.0/0", "10.128.0.0/9", "fd00::/8", "fd00::1", "::/0"),
  remoteIpBlocks: pick("10.1.0.0/16", "10.1.2.3/32", "192.0.2.0/25"),
}
const source = fields({
  ...addresses,
  principals: pick("cluster.local/ns/a/sa/x", "cluster.local/ns/a/*", "*/sa/x", "*"),
  namespaces: pick("a", "b*", "*b"),
  requestPrincipals: pick("*", "i/s", "i/*", "*/s"),
})
const operation = fields({
  paths: pick("/a", "/a*", "*/c", "/{*}", "/a/{**}", "*", "/a/{*}/c", "/"),
  methods: pick("GET", "P*", "*"),
  ports: pick("80", "443"),
  hosts: pick("a.example", "A.Example.", "*.example", "a.*", "a.example:80", "*:80", "*"),
})
const conditionOn = (...keys: string[]): fc.Arbitrary<Condition> =>
  fc
    .record(
      {
        key: fc.constantFrom(...keys),
        values: some(pick("v1", "v*", "*2", "*")),
        notValues: some(pick("v1", "v2", "*")),
      },
      { requiredKeys: ["key"] },
    )
    .filter(({ values, notValues }) => values !== undefined || notValues !== undefined)
const ruleOf = (source: fc.Arbitrary<object>, condition: fc.Arbitrary<Condition>): fc.Arbitrary<Rule> =>
  fc.record(
    {
      from: fc.array(fc.record({ source }), { minLength: 1, maxLength: 2 }),
      to: fc.array(fc.record({ operation }), { minLength: 1, maxLength: 2 }),
      when: fc.array(condition, { minLength: 1, maxLength: 1 }),
    },
    { requiredKeys: [] },
  )
const rule = ruleOf(source, conditionOn("request.auth.claims[g]", "request.headers[x-a]"))
/** CUSTOM rules have no identities or token claims, which they must not read. */
const customRule = ruleOf(fields(addresses), conditionOn("request.headers[x-a]"))
const mode = pick<Mode>("PERMISSIVE", "PERMISSIVE", "STRICT", "DISABLE")
const modes = fc.record({
  mode,
  port: fc.option(fc.record({ number: pick(80, 443), mode }), { nil: undefined, freq: 2 }),
})

/** Rules are drawn from one pool, so that the two sets have rules in common. */
const pairs = fc
  .record({
    pool: fc.array(rule, { minLength: 1, maxLength: 3 }),
    customPool: fc.array(customRule, { minLength: 1, maxLength: 2 }),
    uses: fc.array(
      fc.record({ side: pick(0, 1, 2, 2), action: pick("allow", "deny", "custom"), rule: fc.nat({ max: 2 }) } as const),
      { maxLength: 5 },
    ),
    token: fc.nat({ max: 9 }),
    modes: fc.tuple(modes, modes),
    areModesEqual: fc.nat({ max: 3 }),
  })
  .map(({ pool, customPool, uses, token, modes, areModesEqual }): readonly [SmallSet, SmallSet] => {
    const side = (wanted: 0 | 1): SmallSet => {
      const own = uses.filter(({ side }) => side === wanted || side === 2)
      const rules = (action: string, of: readonly Rule[]) =>
        own.filter(use => use.action === action).map(use => of[use.rule % of.length] ?? {})
      const { mode, port } = modes[areModesEqual > 0 ? 0 : wanted]
      return {
        allow: rules("allow", pool),
        deny: rules("deny", pool),
        custom: rules("custom", customPool),
        tokenRequired: token === 0 || (token === 1 && wanted === 1),
        mode,
        portModes: port === undefined ? {} : { [port.number]: port.mode },
      }
    }
    return [side(0), side(1)]
  })

function documentsOf({ allow, deny, custom, tokenRequired, mode, portModes }: SmallSet): readonly PolicyDocument[] {
  const metadata = (name: string) => ({ name, namespace: "foo", creationTimestamp })
  const policy = (action: "ALLOW" | "DENY" | "CUSTOM", rules: readonly Rule[]): readonly PolicyDocument[] =>
    rules.length === 0
      ? []
      : [
          {
            apiVersion,
            kind: "AuthorizationPolicy",
            metadata: metadata(action.toLowerCase()),
            spec: { action, rules: [...rules], ...(action === "CUSTOM" && { provider: { name: "opa" } }) },
          },
        ]
  const jwtRule = { jwksUri: "https://issuer.example/keys", ...(tokenRequired && { presence: "REQUIRED" as const }) }
  const tokens: PolicyDocument = {
    apiVersion,
    kind: "RequestAuthentication",
    metadata: metadata("jwt"),
    spec: { jwtRules: [jwtRule] },
  }
  const modes: PolicyDocument = {
    apiVersion,
    kind: "PeerAuthentication",
    metadata: metadata("mode"),
    spec: {
      selector: { matchLabels: workload.labels },
      mtls: { mode },
      ...(Object.keys(portModes).length > 0 && {
        portLevelMtls: Object.fromEntries(Object.entries(portModes).map(([port, of]) => [port, { mode: of }])),
      }),
    },
  }
  return [tokens, modes, ...policy("ALLOW", allow), ...policy("DENY", deny), ...policy("CUSTOM", custom)]
}

const z3 = inject("effort") > 1 ? startZ3() : undefined
afterAll(() => z3?.close())

it.runIf(z3 !== undefined)(
  "agrees with z3 on whether two sets differ (only in test:long)",
  async () => {
    const seen = { equal: 0, different: 0, undecided: 0, unknown: 0 }
    const property = fc.asyncProperty(pairs, async ([one, other]) => {
      const { result } = compareSets(documentsOf(one), documentsOf(other), workload, mesh, { now: 1_000 })
      const answer = await z3?.ask(questionOf(one, other))
      if (result === "undecided" || answer === "unknown") seen[result === "undecided" ? "undecided" : "unknown"]++
      else {
        seen[result]++
        expect(result).toBe(answer === "sat" ? "different" : "equal")
        expect(["sat", "unsat"]).toContain(answer)
      }
    })
    await fc.assert(property, { numRuns: SETS })
    console.info(`compared with z3: ${JSON.stringify(seen)}`)
    expect(Math.min(seen.equal, seen.different)).toBeGreaterThan(SETS / 20)
  },
  MAX_MS,
)

function startZ3() {
  const child = spawn(process.env.Z3_PYTHON ?? "python3", [`${import.meta.dirname}/support/ask-z3.py`], {
    stdio: ["pipe", "pipe", "inherit"],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async ask(question: string): Promise<string> {
      child.stdin.write(`${JSON.stringify(question)}\n`)
      const { value, done } = await lines.next()
      return done === true ? expect.fail("z3 ended; see what it printed") : value
    },
    close: () => child.kill(),
  }
}

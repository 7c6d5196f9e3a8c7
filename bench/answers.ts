// SPDX-License-Identifier: Apache-2.0
// The cost of proofs by number of rules: one rule changed, a duplicate added, every rule rewritten, and a change to a
// mesh of ten thousand workloads. In milliseconds of CPU, everything included: compiling both sets, searching,
// replaying. Rules mix identities, path prefixes and templates, claims and addresses. Growth is the cost relative to
// the previous size. Further parts measure certificates, and the program on two revisions of a large repository.
// `--certificates` measures only certificates.

import { type AuthorizationPolicy, compareSets, diffSets, meshConfig, type RequestAuthentication } from "@merlon/policy"
import { policy, workload } from "../packages/policy/src/authorization/testing/requests.js"
import { certificateCosts } from "./answers/certificates.js"
import { revisionsCost } from "./answers/revisions.js"
import { table } from "./measure.js"

const mesh = meshConfig()
const SIZES = [100, 300, 1_000, 3_000]
const REWRITTEN = [100, 300, 1_000]
const RULES_PER_POLICY = 500
const ROUNDS = 5
/** How long applying a policy waits for a proof at most, and the part of it reserved for reporting. */
const [ADMISSION_MS, FINISH_MS] = [300, 30]
const CHANGED = "one rule changed among 3,000"
const REWRITTEN_ALL = "1,000 rules rewritten"
const ADMITTED = "3,000 rules rewritten within the budget of an admission"
const CERTIFICATES = "the most expensive certificate, relative to its answer"
const REVISIONS = "two revisions of 10,000 documents"
/** The CPU time of an answer with a certificate, relative to the answer alone. */
const MAX_RATIO = 1.5
const GOALS = { [CHANGED]: 200, [REWRITTEN_ALL]: 10_000, [ADMITTED]: ADMISSION_MS, [REVISIONS]: 2_000 }

type Rule = NonNullable<AuthorizationPolicy["spec"]["rules"]>[number]

const SHAPES: readonly ((n: number) => Rule)[] = [
  n => ({
    from: [{ source: { principals: [`cluster.local/ns/team-${n % 50}/sa/app-${n}`] } }],
    to: [{ operation: { methods: ["GET"], paths: [`/v1/service-${n}/*`] } }],
  }),
  n => ({ to: [{ operation: { methods: ["GET"], paths: [`/tenants/{*}/orders-${n}/{**}`] } }] }),
  n => ({
    from: [{ source: { requestPrincipals: ["https://issuer.example/*"] } }],
    when: [{ key: "request.auth.claims[groups]", values: [`group-${n}`] }],
  }),
  n => ({ from: [{ source: { ipBlocks: [`172.${16 + (n % 16)}.${(n >> 4) % 256}.0/28`] } }] }),
  n => ({ from: [{ source: { namespaces: [`ns-${n}`] } }], to: [{ operation: { paths: [`/n/${n}`, `/m/${n}*`] } }] }),
]

const tokens: RequestAuthentication = {
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "RequestAuthentication",
  metadata: { name: "jwt", namespace: "foo", creationTimestamp: "2026-01-01T00:00:00Z" },
  spec: { jwtRules: [{ issuer: "https://issuer.example", jwksUri: "https://issuer.example/keys" }] },
}

const ruleOf = (n: number): Rule => SHAPES[n % SHAPES.length]?.(n) ?? {}
const rulesOf = (size: number): readonly Rule[] => Array.from({ length: size }, (_, n) => ruleOf(n))

function set(rules: readonly Rule[]): readonly (AuthorizationPolicy | RequestAuthentication)[] {
  const policies: AuthorizationPolicy[] = []
  for (let at = 0; at < rules.length; at += RULES_PER_POLICY) {
    policies.push(policy(`p${at}`, { rules: rules.slice(at, at + RULES_PER_POLICY) }))
  }
  return [tokens, ...policies]
}

/** An equivalent rule: from any address. */
function rewritten(rule: Rule): Rule {
  const anywhere = { key: "source.ip", values: ["0.0.0.0/0", "::/0"] }
  return { ...rule, when: [...(rule.when ?? []), anywhere] }
}

const CHANGES: Readonly<Record<string, (rules: readonly Rule[]) => readonly Rule[]>> = {
  "one rule changed": rules =>
    rules.with(10, { ...ruleOf(10), to: [{ operation: { methods: ["GET", "POST"], paths: ["/v1/service-10/*"] } }] }),
  "one rule dropped": rules => rules.toSpliced(10, 1),
  "a duplicate added": rules => [
    ...rules,
    { ...ruleOf(10), to: [{ operation: { methods: ["GET"], paths: ["/v1/service-10/a/*"] } }] },
  ],
  "every rule rewritten": rules => rules.map(rewritten),
}

interface Cost {
  readonly change: string
  readonly rules: number
  readonly milliseconds: number
  readonly result: string
}

function cpu(work: () => string): { readonly milliseconds: number; readonly result: string } {
  const rounds: number[] = []
  let result = ""
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage()
    result = work()
    const { user, system } = process.cpuUsage(before)
    rounds.push((user + system) / 1_000)
  }
  rounds.sort((a, b) => a - b)
  return { milliseconds: Math.round(rounds[Math.floor(rounds.length / 2)] ?? Number.NaN), result }
}

function costs(): readonly Cost[] {
  return Object.entries(CHANGES).flatMap(([change, edit]) =>
    (change === "every rule rewritten" ? REWRITTEN : SIZES).map(size => {
      const rules = rulesOf(size)
      const [before, after] = [set(rules), set(edit(rules))]
      return { change, rules: size, ...cpu(() => compareSets(before, after, workload, mesh, { now: 1_000 }).result) }
    }),
  )
}

/**
 * The question that the control plane asks while a client applies a policy: a proof, or a timeout. Measured in CPU
 * time, so that other processes do not count.
 */
function admitted(): Cost {
  const rules = rulesOf(3_000)
  const [before, after] = [set(rules), set(rules.map(rewritten))]
  const now = (): number => process.cpuUsage().user / 1_000 + process.cpuUsage().system / 1_000
  const ask = (): string => {
    const limits = { steps: Number.MAX_SAFE_INTEGER, deadline: now() + ADMISSION_MS - FINISH_MS, now }
    return compareSets(before, after, workload, mesh, { limits, now: 1_000 }).result
  }
  return { change: ADMITTED, rules: 3_000, ...cpu(ask) }
}

/** Ten thousand workloads; those with the same labels have the same policies. */
function meshOf(apps: number): Cost & { readonly comparisons: number } {
  const workloads = Array.from({ length: 10_000 }, (_, n) => ({
    namespace: "foo",
    name: `w-${n}`,
    labels: { app: `a-${n % apps}` },
  }))
  const own = Array.from({ length: apps }, (_, n) =>
    policy(`own-${n}`, { selector: { matchLabels: { app: `a-${n}` } }, rules: [ruleOf(n)] }),
  )
  const after = [...own, policy("all", { rules: [ruleOf(0)] })]
  let comparisons = 0
  const cost = cpu(() => {
    const diff = diffSets(own, after, workloads, mesh, { now: 1_000 })
    comparisons = diff.comparisons
    return diff.result
  })
  return { change: `10,000 workloads of ${apps} kinds`, rules: apps, ...cost, comparisons }
}

const changedOf = (size: number) => CHANGES["one rule changed"]?.(rulesOf(size)) ?? []
const certificates = certificateCosts(
  size => set(rulesOf(size)),
  size => set(changedOf(size)),
)
const certificatesTable = table(
  ["certificate of", "rules", "ms of CPU without", "with", "ratio", "KiB"],
  certificates.map(({ question, rules, alone, certified, ratio, kibibytes }) => [
    ...[question, rules, alone, certified],
    ...[ratio.toFixed(2), kibibytes],
  ]),
)
if (process.argv.includes("--certificates")) {
  console.log(certificatesTable)
  process.exit()
}
const measured = costs()
const meshes = [1, 10, 100].map(meshOf)
const budgeted = admitted()
const cheap = measured.find(({ change, rules }) => change === "one rule changed" && rules === 3_000)
const dear = measured.find(({ change, rules }) => change === "every rule rewritten" && rules === 1_000)
const revisions = revisionsCost(10_000)
const measuredFor: Readonly<Record<string, Pick<Cost, "milliseconds" | "result"> | undefined>> = {
  [REVISIONS]: { ...revisions, result: `${revisions.result}, ${revisions.mebibytes} MiB` },
  [CHANGED]: cheap,
  [REWRITTEN_ALL]: dear,
  [ADMITTED]: budgeted,
}
const goals = Object.entries(GOALS).map(([goal, limit]) => {
  const { milliseconds = Number.NaN, result = "" } = measuredFor[goal] ?? {}
  return { goal, limit, milliseconds, met: milliseconds < limit, result }
})

if (process.argv.includes("--json")) {
  console.log(JSON.stringify({ costs: measured, meshes, certificates, revisions, goals }))
} else {
  const growth = (cost: Cost): string => {
    const before = measured.findLast(({ change, rules }) => change === cost.change && rules < cost.rules)
    return before === undefined ? "-" : `×${(cost.milliseconds / Math.max(1, before.milliseconds)).toFixed(1)}`
  }
  const rows = measured.map(cost => [cost.change, cost.rules, cost.milliseconds, growth(cost), cost.result])
  console.log(table(["change", "rules", "ms of CPU", "growth", "answer"], rows))
  console.log()
  console.log(certificatesTable)
  console.log()
  console.log(
    table(
      ["mesh", "comparisons", "ms of CPU", "answer"],
      meshes.map(({ change, comparisons, milliseconds, result }) => [change, comparisons, milliseconds, result]),
    ),
  )
  console.log()
  const [dearest = Number.NaN] = certificates.map(({ ratio }) => ratio).sort((a, b) => b - a)
  console.log(`${dearest <= MAX_RATIO ? "met" : "MISSED"}: ${CERTIFICATES}: ${dearest}, goal ${MAX_RATIO}`)
  for (const { goal, limit, milliseconds, met, result } of goals) {
    console.log(`${met ? "met" : "MISSED"}: ${goal} (${result}) in ${milliseconds} ms of CPU, goal ${limit} ms`)
  }
}

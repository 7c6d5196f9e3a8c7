// SPDX-License-Identifier: Apache-2.0
import { meshConfig, type PolicyDocument, validate } from "@merlon/policy"
import { describe, expect, it } from "vitest"
import { Comparison, isComparable } from "./comparison.js"
import { admissionHandlers } from "./handlers.js"
import type { AdmissionAnswer, AdmissionRequest } from "./review.js"

const mesh = meshConfig()
const { names } = mesh
const workloads = [{ namespace: "foo", name: "web-1", labels: { app: "web" } }]

const policy = (name: string, spec: object, namespace = "foo") => ({
  apiVersion: `${names.securityGroup}/${names.version}`,
  kind: "AuthorizationPolicy",
  metadata: { name, namespace },
  spec,
})

function read(object: object): PolicyDocument {
  const { document, faults } = validate(object, names)
  if (document === undefined) throw new Error(faults.map(({ message }) => message).join("; "))
  return document
}

const lonely = read(policy("p", { selector: { matchLabels: { app: "nobody" } }, rules: [{}] }))
const web = read(policy("p", { selector: { matchLabels: { app: "web" } }, rules: [{}] }))

describe("a comparison", () => {
  it("warns of what is odd beside others, about this document alone", async () => {
    const other = read(policy("other", { selector: { matchLabels: { app: "nobody" } }, rules: [{}] }))
    const comparison = new Comparison({ mesh, known: () => ({ documents: [other, lonely], workloads }) })
    expect(await comparison.of(lonely)).toEqual([expect.stringMatching(/app.*nobody/)])
    expect(await comparison.of(web)).toEqual([])
  })

  it("says nothing where too much is stored", async () => {
    expect(await new Comparison({ mesh, known: () => undefined }).of(lonely)).toEqual([])
    expect(isComparable(500, 1_000)).toBe(true)
    expect(isComparable(501, 1)).toBe(false)
    expect(isComparable(500, 10_000)).toBe(false)
  })

  it("never fails: a fault in comparing is no fault of the document", async () => {
    const known = () => {
      throw new Error("not ready")
    }
    expect(await new Comparison({ mesh, known }).of(lonely)).toEqual([])
  })
})

describe("while a tenant does its worst", () => {
  const rules = (word: string) =>
    Array.from({ length: 60 }, (_, index) => ({
      to: [{ operation: { paths: [`/${word}/${index}/{*}`, `/${word}*`], methods: ["GET", "POST"] } }],
      from: [{ source: { namespaces: [`n${index}-*`] } }],
    }))
  const worst = Array.from({ length: 60 }, (_, index) =>
    policy(`w${index}`, { action: index % 2 === 0 ? "DENY" : "ALLOW", rules: rules(`p${index}`) }, "evil"),
  )
  const documents = worst.map(read)

  const question = (object: { readonly metadata: { readonly name: string; readonly namespace: string } }) =>
    ({
      uid: "1",
      operation: "CREATE",
      group: names.securityGroup,
      version: names.version,
      kind: "AuthorizationPolicy",
      namespace: object.metadata.namespace,
      name: object.metadata.name,
      subresource: "",
      object,
      oldObject: undefined,
    }) satisfies AdmissionRequest

  it("an emergency DENY is answered before the tenant's own document is", async () => {
    const validate = admissionHandlers({
      mesh,
      clusterDomain: "cluster.local",
      known: () => ({ documents, workloads }),
      namespaceLabels: () => ({}),
      portsBehind: () => undefined,
      // Nobody is injected here.
      injection: undefined as never,
    }).get("/validate")
    if (validate === undefined) throw new Error("nobody validates")
    const answered: string[] = []
    const ask = async (name: string, object: Parameters<typeof question>[0]): Promise<AdmissionAnswer> => {
      const answer = await validate(question(object))
      answered.push(name)
      return answer
    }
    const [first] = worst
    if (first === undefined) throw new Error("there is one")
    const tenant = ask("tenant", { ...first, metadata: { name: "again", namespace: "evil" } })
    const denied = await ask("emergency", policy("stop", { action: "DENY", rules: [{}] }))
    expect(denied.refused).toBeUndefined()
    expect(answered).toEqual(["emergency"])
    expect((await tenant).refused).toBeUndefined()
  })

  it("everything else has its turn in between, and the turns come to an end", async () => {
    let turns = 0
    const turn = async (): Promise<void> => {
      turns++
    }
    const comparison = new Comparison({ mesh, known: () => ({ documents, workloads }), turn })
    const [document] = documents
    if (document === undefined) throw new Error("there is one")
    await comparison.of(document)
    expect(turns).toBeGreaterThan(10)
    expect(turns).toBeLessThanOrEqual(60)
  })
})

it.each([["a MeshService of nested repetitions", { uri: { regex: "(((a{1,60}){1,60}){1,60}){1,60}" } }]])(
  "refuses %s by what it compiles to",
  (_, match) => {
    const { document, faults } = validate(
      {
        apiVersion: `${names.networkingGroup}/${names.version}`,
        kind: "MeshService",
        metadata: { name: "m", namespace: "evil" },
        spec: { hosts: ["web"], rules: [{ match: [match], route: [{ service: [{ host: "web" }] }] }] },
      },
      names,
    )
    expect(document).toBeUndefined()
    expect(faults[0]?.path).toContain("regex")
  },
)

// SPDX-License-Identifier: Apache-2.0
import { meshNames } from "@merlon/policy/mesh"
import { describe, expect, it } from "vitest"
import { parseAllDocuments } from "yaml"
import { proofOfImport } from "./proof.js"
import { importIstio } from "./translate.js"

const names = meshNames()
const NOW = 1_700_000_000
const read = (text: string): readonly unknown[] => parseAllDocuments(text).map(document => document.toJS())

const MANIFESTS = `
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: istio-system}
spec: {mtls: {mode: STRICT}}
---
apiVersion: security.istio.io/v1beta1
kind: AuthorizationPolicy
metadata: {name: readers, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  rules: [{from: [{source: {principals: ["cluster.local/ns/team/sa/a"]}}], to: [{operation: {methods: [GET]}}]}]
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: trial, namespace: shop, annotations: {istio.io/dry-run: "true"}}
spec: {action: DENY, rules: [{}]}
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: named, namespace: shop}
spec: {targetRef: {kind: Service, name: till, group: ""}, rules: [{}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, ports: [{containerPort: 8080}]}]}}}
`

describe("the import", () => {
  it("is proved to decide every request as before, on all selected workloads", () => {
    const originals = read(
      MANIFESTS.replace(
        'targetRef: {kind: Service, name: till, group: ""}',
        "targetRefs: [{kind: Service, name: till}]",
      ),
    )
    const proof = proofOfImport(originals, importIstio(originals, names), names, { now: NOW })
    expect(proof?.diff).toMatchObject({ result: "equal", groups: [] })
    expect(proof?.workloads.map(({ namespace, name }) => `${namespace}/${name}`)).toEqual([
      "shop/web",
      "default/selected-by-default-0",
      "shop/selected-by-readers-1",
      "shop/selected-by-trial-2",
      "shop/selected-by-named-3",
    ])
    expect([proof?.policies, proof?.unread]).toEqual([4, []])
  })

  it("names the policies that the proof does not cover", () => {
    const originals = read(MANIFESTS)
    const proof = proofOfImport(originals, importIstio(originals, names), names, { now: NOW })
    expect([proof?.policies, proof?.unread]).toEqual([3, ["AuthorizationPolicy shop/named"]])
  })

  it.each([
    ["a policy is missing", 1],
    ["a policy of the whole mesh is missing", 0],
  ])("is not called equal if %s", (_, missing) => {
    const originals = read(MANIFESTS)
    const { documents } = importIstio(originals, names)
    const kept = { documents: documents.filter((_, at) => at !== missing) }
    expect(proofOfImport(originals, kept, names, { now: NOW })?.diff.result).toBe("different")
  })

  it("is not called equal if policies lose the age that decides between them", () => {
    const aged = (name: string, mode: string, day: number) => `
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: ${name}, namespace: shop, creationTimestamp: "2026-01-0${day}T00:00:00Z"}
spec: {mtls: {mode: ${mode}}}
`
    const originals = read([aged("z-old", "STRICT", 1), aged("a-new", "PERMISSIVE", 2)].join("---"))
    const { diff } = proofOfImport(originals, importIstio(originals, names), names, { now: NOW }) ?? {}
    expect(diff?.groups[0]?.comparison.changes.map(({ from, to }) => [from, to])).toContainEqual(["transport", "allow"])
  })
})

it("has no proof without policies", () => {
  expect(proofOfImport([], { documents: [] }, names, { now: NOW })).toBeUndefined()
})

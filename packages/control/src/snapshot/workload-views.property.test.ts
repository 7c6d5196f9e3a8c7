// SPDX-License-Identifier: Apache-2.0
import { isDeepStrictEqual } from "node:util"
import { keySetId } from "@merlon/policy/tokens"
import { decodeProxyResource, resourceNames, resourceVersion, trustVersion } from "@merlon/xds"
import { contentVersion } from "@merlon/xds/runtime"
import fc from "fast-check"
import { expect, inject, it } from "vitest"
import { type KubernetesObject, objectKey } from "../kubernetes/resource-type.js"
import { fallbackPolicy } from "../policies/fallback-policy.js"
import type { SecurityKind } from "../policies/stored-policy.js"
import type { MeshWorkload } from "../registry/mesh-workload.js"
import { podOf, serviceOf } from "../registry/testing/objects.js"
import { MESH, policyOf, viewsStage } from "./testing/views-stage.js"

const ROOT = "merlon-system"
const runs = { numRuns: 300 * inject("effort"), interruptAfterTimeLimit: 15_000 * inject("effort") }
type Stage = ReturnType<typeof viewsStage>

const namespaces = fc.constantFrom("foo", "bar", ROOT)
const labels = fc.dictionary(fc.constantFrom("app", "version"), fc.constantFrom("a", "b"))
const keyOf = (...names: string[]) => fc.tuple(namespaces, fc.constantFrom(...names)).map(parts => parts.join("/"))
const ISSUERS = ["https://i.example", "https://j.example"] as const
const rules = fc.subarray(
  [{ issuer: ISSUERS[0] }, { issuer: ISSUERS[1] }, { issuer: ISSUERS[0], jwksUri: "https://i.example/k" }],
  { minLength: 1, maxLength: 2 },
)

const pods = fc
  .tuple(keyOf("w", "x"), labels, fc.boolean(), fc.constantFrom("Running", "Pending", "Failed"))
  .map(([key, labels, proxied, phase]) =>
    podOf(key, { labels, proxied, ports: [{ containerPort: 80 }], status: { phase } }),
  )
const services = fc
  .tuple(keyOf("s", "t"), labels, fc.constantFrom("http", "tcp"))
  .map(([key, selector, name]) => serviceOf(key, selector, [{ port: 80, name }]))
const policies = fc
  .tuple(
    fc.constantFrom<SecurityKind>("AuthorizationPolicy", "PeerAuthentication", "RequestAuthentication"),
    keyOf("p", "q"),
    fc.oneof(
      fc.constant({}),
      labels.map(matchLabels => ({ selector: { matchLabels } })),
      fc
        .subarray(["s", "t"], { minLength: 1 })
        .map(names => ({ targetRefs: names.map(name => ({ kind: "Service", name })) })),
    ),
    rules,
    fc.constantFrom("1", "2"),
    fc.constantFrom("Enforce", "Shadow", "Broken"),
  )
  .map(([kind, key, scope, jwtRules, label, enforcement]) =>
    policyOf(
      kind,
      key,
      {
        ...scope,
        ...(kind === "RequestAuthentication" ? { jwtRules } : {}),
        enforcement,
      },
      { labels: { noise: label } },
    ),
  )

type Step =
  | { readonly set: KubernetesObject }
  | { readonly remove: KubernetesObject }
  | { readonly keys: string; readonly jwks: string }
  | { readonly bundle: string }
const objectSteps = fc
  .oneof(pods, services, policies, policies)
  .chain(object => fc.constantFrom<Step>({ set: object }, { set: object }, { remove: object }))
const step = fc.oneof(
  { weight: 8, arbitrary: objectSteps },
  {
    weight: 3,
    arbitrary: fc.record({
      keys: fc.constantFrom(...ISSUERS).map(issuer => keySetId({ issuer })),
      jwks: fc.constantFrom("{}", '{"keys":[]}'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ bundle: fc.constantFrom("r1", "r2") }) },
)
// A large burst first, then small ones: in a large burst nearly every workload changes for some reason.
const bursts = fc
  .tuple(fc.array(step, { maxLength: 40 }), fc.array(fc.array(step, { maxLength: 3 }), { maxLength: 12 }))
  .map(([first, later]) => [first, ...later])

/** The stored objects, and the last readable version of each policy. */
class World {
  readonly policies = new Map<string, KubernetesObject>()
  /** Keys of policies without a readable version. */
  readonly fallbacks = new Set<string>()
  readonly #services = new Map<string, KubernetesObject>()

  apply(stage: Stage, step: Step): void {
    if ("keys" in step) stage.keySets.set(step.keys, step.jwks)
    else if ("bundle" in step) stage.trust.set(step)
    else this.#applyObject(stage, "set" in step ? step.set : step.remove, "set" in step)
  }

  #applyObject({ registry, policies }: Stage, object: KubernetesObject, set: boolean): void {
    const { namespace = "", name } = object.metadata
    if (object.kind === "Pod") {
      if (set) registry.setPod(object)
      else registry.deletePod(namespace, name)
    } else if (object.kind === "Service") {
      if (set) registry.setService(object)
      else registry.deleteService(namespace, name)
      if (set) this.#services.set(objectKey(object), object)
      else this.#services.delete(objectKey(object))
    } else {
      const kind = object.kind as SecurityKind // this test uses no other kinds
      const key = `${kind} ${objectKey(object)}`
      if (!set) {
        policies.delete(kind, namespace, name)
        this.policies.delete(key)
        this.fallbacks.delete(key)
        return
      }
      policies.set(kind, object)
      if ((object.spec as { enforcement: string }).enforcement !== "Broken") {
        this.policies.set(key, object)
        this.fallbacks.delete(key)
      } else if (!this.policies.has(key) || this.fallbacks.has(key)) {
        this.policies.set(key, { ...object, spec: fallbackPolicy(kind, object, MESH.names)?.spec })
        this.fallbacks.add(key)
      }
    }
  }

  selecting(workload: MeshWorkload): readonly KubernetesObject[] {
    return [...this.policies.values()].filter(({ kind, metadata, spec }) => {
      const { selector, targetRefs } = spec as {
        selector?: { matchLabels: Record<string, string> }
        targetRefs?: { name: string }[]
      }
      if (targetRefs !== undefined) {
        const services = this.#servicesOf(workload)
        return metadata.namespace === workload.namespace && targetRefs.some(({ name }) => services.includes(name))
      }
      const wanted = Object.entries(selector?.matchLabels ?? {})
      if (metadata.namespace !== workload.namespace && metadata.namespace !== ROOT) return false
      if (kind === "PeerAuthentication" && metadata.namespace === ROOT && wanted.length > 0) return false
      return wanted.every(([key, value]) => workload.labels[key] === value)
    })
  }

  #servicesOf({ namespace, labels }: MeshWorkload): readonly string[] {
    const leading = [...this.#services.values()].filter(({ metadata, spec }) => {
      const wanted = Object.entries((spec as { selector: Record<string, string> }).selector)
      const selects = wanted.length > 0 && wanted.every(([key, value]) => labels[key] === value)
      return metadata.namespace === namespace && selects
    })
    return leading.map(({ metadata }) => metadata.name).sort()
  }

  versions(stage: Stage, workload: MeshWorkload): Readonly<Record<string, string>> {
    const { namespace, name, serviceAccount, labels, probes } = workload
    const mesh = {
      mesh: "merlon",
      domain: "merlon.dev",
      trustDomain: "cluster.local",
      trustDomainAliases: [],
      pathNormalization: "MERGE_SLASHES",
      numTrustedProxies: 0,
      providers: [],
    }
    const services = this.#servicesOf(workload)
    const ports = workload.ports.map(port => ({ ...port, name: undefined }))
    const versions: Record<string, string> = {
      workload: contentVersion({ mesh, namespace, name, serviceAccount, labels, services, ports, probes }),
      trust: trustVersion(stage.trust.current),
    }
    for (const policy of this.selecting(workload)) {
      const { name, namespace, uid, generation } = policy.metadata
      const wire = { ...policy, metadata: { name, namespace, uid, generation } }
      versions[`policy/${policy.kind}/${namespace}/${name}`] = contentVersion(wire)
      const { jwtRules = [] } = policy.spec as { jwtRules?: { issuer: string }[] }
      for (const rule of policy.kind === "RequestAuthentication" ? jwtRules : []) {
        const id = keySetId(rule)
        const jwks = stage.keySets.get(id)?.jwks
        if (jwks !== undefined) versions[resourceNames.keySet(id)] = contentVersion({ id, jwks })
      }
    }
    return versions
  }

  views(stage: Stage): Map<string, Readonly<Record<string, string>>> {
    const proxied = [...stage.registry.workloads.values()].filter(({ proxied }) => proxied)
    return new Map(proxied.map(workload => [workload.key, this.versions(stage, workload)]))
  }
}

it("equals a computation from scratch after any changes", () => {
  let held = 0
  fc.assert(
    fc.property(bursts, sequence => {
      const stage = viewsStage()
      const world = new World()
      for (const burst of sequence) {
        const before = world.views(stage)
        const identities = new Map([...before.keys()].map(key => [key, stage.views.get(key)]))
        stage.changes.length = 0
        for (const step of burst) world.apply(stage, step)
        stage.settle()
        const after = world.views(stage)
        for (const key of new Set([...before.keys(), ...after.keys()])) {
          const resources = stage.views.get(key)?.resources
          const shown = resources && Object.fromEntries([...resources].map(([name, { version }]) => [name, version]))
          expect(shown).toEqual(after.get(key))
          // A proxy computes versions from the resources it has; if they differed, everything would be sent again.
          for (const { value, version } of resources?.values() ?? [])
            expect(resourceVersion(decodeProxyResource(value))).toBe(version)
          if (isDeepStrictEqual(before.get(key), after.get(key))) expect(stage.views.get(key)).toBe(identities.get(key))
          held += resources?.size ?? 0
        }
        const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
          key => !isDeepStrictEqual(before.get(key), after.get(key)),
        )
        expect(stage.changes.flat().sort()).toEqual(changed.sort())
        for (const { kind, metadata } of world.policies.values()) {
          const selected = stage.views.selectedBy(kind as SecurityKind, metadata.namespace ?? "", metadata.name)
          const expected = [...stage.registry.workloads.values()].filter(workload =>
            world.selecting(workload).some(policy => policy.kind === kind && policy.metadata === metadata),
          )
          expect([...selected].sort()).toEqual(expected.map(({ key }) => key).sort())
        }
      }
    }),
    runs,
  )
  expect(held).toBeGreaterThan(100)
})

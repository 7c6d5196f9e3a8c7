// SPDX-License-Identifier: Apache-2.0
// The stored policies in the form that is sent: validated, stripped, encoded once. A document that cannot be read never
// takes the place of one that could; where none could, the strictest it could mean stands in for it.

import { isDeepStrictEqual } from "node:util"
import { type Fault, keySetId, type MeshNames, validate } from "@merlon/policy"
import { type ProxyResource, resourceNames, type VersionedResource } from "@merlon/xds"
import type { KubernetesObject } from "../kubernetes/resource-type.js"
import { contentVersion } from "./canonical-json.js"
import { closedStandIn } from "./closed-stand-in.js"
import { type SecurityPolicy, wireDocument } from "./wire-document.js"

export type SecurityKind = SecurityPolicy["kind"]
export type Encode = (resource: ProxyResource) => Uint8Array

/** `Kind/namespace/name`. */
export function policyKey(kind: string, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`
}

export interface ShelvedPolicy {
  readonly key: string
  readonly document: SecurityPolicy
  readonly namespace: string
  /** Labels asked for; empty for everything in scope. */
  readonly selector: { readonly [key: string]: string }
  readonly resource: VersionedResource
  /** Of the rules that bring no keys of their own. */
  readonly keySets: ReadonlySet<string>
  /** Not as people wrote it, because that cannot be read. */
  readonly standsIn: boolean
}

export interface ShelfChange {
  readonly before: ShelvedPolicy | undefined
  readonly after: ShelvedPolicy | undefined
}

/** A stored document that is not sent as it is; `kept` where an earlier version of it goes on being enforced. */
export type OnInvalid = (key: string, faults: readonly Fault[], kept: boolean) => void

export interface PolicyShelfOptions {
  readonly names: MeshNames
  readonly encode: Encode
  readonly onInvalid: OnInvalid
}

export class PolicyShelf {
  readonly #options: PolicyShelfOptions
  readonly #policies = new Map<string, ShelvedPolicy>()
  /** As last seen, valid or not. */
  readonly #seen = new Map<string, KubernetesObject>()

  constructor(options: PolicyShelfOptions) {
    this.#options = options
  }

  get policies(): ReadonlyMap<string, ShelvedPolicy> {
    return this.#policies
  }

  /** Undefined where nothing changed that proxies would notice. */
  set(kind: SecurityKind, object: KubernetesObject): ShelfChange | undefined {
    const { names } = this.#options
    const { namespace = "default", name } = object.metadata
    const key = policyKey(kind, namespace, name)
    const seen = this.#seen.get(key)
    this.#seen.set(key, object)
    if (seen !== undefined && meansTheSame(seen, object, names)) return undefined
    const before = this.#policies.get(key)
    const { document, faults } = validate(object, names)
    if (document !== undefined && document.kind === kind) return this.#replace(key, before, document, false)
    // Fail closed: without the last good version a refusal would turn into an admission. Another object of the same name
    // is no version of it: whoever deleted the old one meant it.
    const kept = before !== undefined && !before.standsIn && before.document.metadata.uid === object.metadata.uid
    this.#options.onInvalid(key, faults, kept)
    return kept ? undefined : this.#replace(key, before, closedStandIn(kind, object, names), true)
  }

  delete(kind: SecurityKind, namespace: string, name: string): ShelfChange | undefined {
    const key = policyKey(kind, namespace, name)
    this.#seen.delete(key)
    const before = this.#policies.get(key)
    this.#policies.delete(key)
    return before === undefined ? undefined : { before, after: undefined }
  }

  #replace(
    key: string,
    before: ShelvedPolicy | undefined,
    document: SecurityPolicy | undefined,
    standsIn: boolean,
  ): ShelfChange | undefined {
    if (document === undefined) {
      this.#policies.delete(key)
      return before === undefined ? undefined : { before, after: undefined }
    }
    const { names, encode } = this.#options
    const wire = wireDocument(document, names)
    const version = contentVersion(wire)
    if (before?.resource.version === version) return undefined
    const { kind, metadata, spec } = document
    const after: ShelvedPolicy = {
      key,
      document,
      namespace: metadata.namespace,
      selector: spec.selector?.matchLabels ?? {},
      resource: {
        name: resourceNames.policy(kind, metadata.namespace, metadata.name),
        version,
        value: encode({ kind: "policy", document: wire }),
      },
      keySets: keySetsOf(document),
      standsIn,
    }
    this.#policies.set(key, after)
    return { before, after }
  }
}

function meansTheSame(a: KubernetesObject, b: KubernetesObject, { dryRunAnnotation }: MeshNames): boolean {
  return (
    a.metadata.uid === b.metadata.uid &&
    a.metadata.generation === b.metadata.generation &&
    a.metadata.creationTimestamp === b.metadata.creationTimestamp &&
    a.metadata.annotations?.[dryRunAnnotation] === b.metadata.annotations?.[dryRunAnnotation] &&
    isDeepStrictEqual(a.spec, b.spec)
  )
}

function keySetsOf(policy: SecurityPolicy): ReadonlySet<string> {
  if (policy.kind !== "RequestAuthentication") return new Set()
  return new Set((policy.spec.jwtRules ?? []).filter(({ jwks }) => jwks === undefined).map(keySetId))
}

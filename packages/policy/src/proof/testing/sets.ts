// SPDX-License-Identifier: Apache-2.0
// Generates pairs of similar policy sets, some of which decide alike, and requests to them.

import fc from "fast-check"
import { policies, requestsIn } from "../../authorization/testing/arbitraries.js"
import { type MeshConfig, meshConfig } from "../../mesh/config.js"
import type { Attributes } from "../../request/attributes.js"
import type { AuthorizationPolicy, RequestAuthentication } from "../../resources/document.js"

/** A trusted proxy, so that client and peer may have different addresses. */
export const mesh = meshConfig({ numTrustedProxies: 1, trustDomainAliases: ["old.td"] })

export const workload = { namespace: "foo", name: "web-1", labels: { app: "web" } }

/** Accepts every signed token of any issuer. */
export const anyIssuer: RequestAuthentication = {
  apiVersion: "security.merlon.dev/v1alpha3",
  kind: "RequestAuthentication",
  metadata: { name: "jwt", namespace: "foo", creationTimestamp: "2026-01-01T00:00:00Z" },
  spec: { jwtRules: [{ jwksUri: "https://issuer.example/keys" }] },
}

type Edit = (
  set: readonly AuthorizationPolicy[],
  other: readonly AuthorizationPolicy[],
  at: number,
) => readonly AuthorizationPolicy[]

const at = <T>(list: readonly T[], index: number): T | undefined => list[index % Math.max(1, list.length)]

const editRules =
  (edit: (rules: NonNullable<AuthorizationPolicy["spec"]["rules"]>, index: number) => typeof rules): Edit =>
  (set, _, index) => {
    const chosen = at(set, index)
    return set.map(policy =>
      policy === chosen
        ? { ...policy, spec: { ...policy.spec, rules: edit(policy.spec.rules ?? [], index >> 3) } }
        : policy,
    )
  }

const EDITS: readonly Edit[] = [
  set => set,
  // These edits keep the meaning and change the words.
  editRules(rules => rules.toReversed()),
  editRules((rules, n) => [...rules, ...rules.slice(n % 3)]),
  editRules(rules =>
    rules.flatMap(({ to = [], ...rest }) =>
      to.length > 1 ? to.map(one => ({ ...rest, to: [one] })) : [{ ...rest, to }],
    ),
  ),
  editRules(rules =>
    rules.flatMap(({ from = [], ...rest }) =>
      from.length > 1 ? from.map(one => ({ ...rest, from: [one] })) : [{ ...rest, from }],
    ),
  ),
  // These edits change the meaning.
  editRules((rules, n) => rules.filter((_, index) => index !== n % Math.max(1, rules.length))),
  editRules((rules, n) =>
    rules.map((rule, index) => (index === n % Math.max(1, rules.length) ? { ...rule, when: [] } : rule)),
  ),
  (set, other) => [
    ...set,
    ...other.slice(0, 1).map(policy => ({ ...policy, metadata: { ...policy.metadata, name: "added" } })),
  ],
  set => set.slice(1),
  (_, other) => other,
]

export const pairs: fc.Arbitrary<readonly [readonly AuthorizationPolicy[], readonly AuthorizationPolicy[]]> = fc
  .tuple(policies, policies, fc.nat({ max: EDITS.length - 1 }), fc.nat())
  .map(([before, other, edit, index]) => [before, (EDITS[edit] ?? (set => set))(before, other, index)])

/**
 * Corrects attributes as frames require: plaintext has no server name, and the client of a TCP connection is its peer.
 */
export const possibleIn = (config: MeshConfig): fc.Arbitrary<Attributes> =>
  requestsIn(config).map(attributes =>
    attributes.http === undefined
      ? { ...attributes, remoteIp: attributes.sourceIp }
      : attributes.peer === undefined
        ? { ...attributes, sni: undefined }
        : attributes,
  )

export const possible = possibleIn(mesh)

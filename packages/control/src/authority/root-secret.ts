// SPDX-License-Identifier: Apache-2.0
// The Secret with the generated root. It is created once; replicas that start together end up with one root, because
// only one creation succeeds. INVARIANT: an existing Secret is never overwritten unless we could read it, and then only
// the version that we read. Replacing it blindly would replace the root of the whole mesh.

import { type AuthorityKeys, createRoot, rootFingerprint } from "@merlon/identity"
import { ApiError, type KubernetesClient } from "../kubernetes/client.js"
import { type KubernetesObject, SECRETS } from "../kubernetes/resource-type.js"
import type { AuthorityNames } from "./authority-names.js"
import { AuthorityError } from "./key-source.js"
import { readSecretData, writeSecretData } from "./secret-data.js"
import { readStoredRoot, type StoredRoot, writeStoredRoot } from "./stored-root.js"

export interface RootSecret {
  readonly object: KubernetesObject
  readonly stored: StoredRoot
}

export interface RootSettings {
  readonly client: KubernetesClient
  readonly names: AuthorityNames
  readonly trustDomain: string
  readonly rootLifetimeMs: number
  /** Lifetime of certificates whose request names none. */
  readonly defaultTtlMs: number
  readonly now: () => number
}

const CONFLICT = 409
const MAX_ATTEMPTS = 8

/** The root is valid except that it has expired, so certificates that it signs are not trusted any more. */
export class ExpiredRootError extends AuthorityError {
  readonly secret: RootSecret

  constructor(secret: RootSecret, names: AuthorityNames) {
    super("root-ended", ended(secret, names))
    this.secret = secret
  }
}

/**
 * The root of the mesh. Generates it if there is none yet, or if a user asked to replace an expired one. Throws an
 * `AuthorityError` if it cannot be used.
 */
export async function openRootSecret(settings: RootSettings): Promise<RootSecret> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const found = await fetchRootSecret(settings).catch((error: unknown) => {
      if (error instanceof ExpiredRootError) return replaceExpired(settings, error)
      throw error
    })
    if (found === "again") continue
    if (found !== undefined) return found
    const now = settings.now()
    const stored: StoredRoot = {
      state: { phase: "steady", current: makeRoot(settings), since: now, demand: "" },
      longestTtlMs: settings.defaultTtlMs,
      lastOldExpiry: 0,
      past: [],
    }
    const created = await createRootSecret(settings, stored)
    if (created !== undefined) return created
  }
  throw new AuthorityError(
    "root-gone",
    `${where(settings.names)} is created and deleted repeatedly; find out what deletes it`,
  )
}

/** Undefined if there is none. */
export async function fetchRootSecret({ client, names, now }: RootSettings): Promise<RootSecret | undefined> {
  const object = await client.get<KubernetesObject>(SECRETS, names.rootSecret, names.namespace)
  if (object === undefined) return undefined
  const read = readStoredRoot(readSecretData(object), now())
  if (read.ok) return { object, stored: read.stored }
  const atAnyTime = readStoredRoot(readSecretData(object), Number.NEGATIVE_INFINITY)
  if (atAnyTime.ok) throw new ExpiredRootError({ object, stored: atAnyTime.stored }, names)
  // Fail closed: whatever the Secret contains, it may be the only copy of the mesh's root.
  throw new AuthorityError("root-unusable", unreadable(names, read.message))
}

/** The stored root, or a new one if a user asked to replace an expired one. Undefined if none is stored. */
export async function replacedRootSecret(settings: RootSettings): Promise<RootSecret | undefined> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    try {
      return await fetchRootSecret(settings)
    } catch (error) {
      if (!(error instanceof ExpiredRootError)) throw error
      const replaced = await replaceExpired(settings, error)
      if (replaced !== "again") return replaced
    }
  }
  return undefined
}

/**
 * Only at a user's request, and only the root that it names: if just our clock is wrong, a new root would cut off a
 * healthy mesh.
 */
async function replaceExpired(settings: RootSettings, error: ExpiredRootError): Promise<RootSecret | "again"> {
  const { object, stored } = error.secret
  const fingerprint = rootFingerprint(stored.state.current)
  if (object.metadata.annotations?.[settings.names.annotations.replaceExpired] !== fingerprint) throw error
  const replaced = await replaceRootSecret(settings, error.secret, {
    state: { phase: "steady", current: makeRoot(settings), since: settings.now(), demand: stored.state.demand },
    longestTtlMs: settings.defaultTtlMs,
    lastOldExpiry: 0,
    past: [...stored.past, fingerprint],
  })
  return replaced ?? "again"
}

/** Undefined if another replica created it first. */
export async function createRootSecret(settings: RootSettings, stored: StoredRoot): Promise<RootSecret | undefined> {
  const { client, names } = settings
  const object: KubernetesObject = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: names.rootSecret,
      namespace: names.namespace,
      labels: { "app.kubernetes.io/managed-by": names.managedBy },
      annotations: progress(names, stored),
    },
    type: names.rootSecretType,
    data: writeSecretData(writeStoredRoot(stored)),
  }
  try {
    return { object: await client.create(SECRETS, object), stored }
  } catch (error) {
    if (error instanceof ApiError && error.code === CONFLICT) return undefined
    throw error
  }
}

/** Undefined if the Secret is no longer the version that was read. */
export async function replaceRootSecret(
  { client, names }: RootSettings,
  { object }: RootSecret,
  stored: StoredRoot,
): Promise<RootSecret | undefined> {
  const annotations = { ...object.metadata.annotations, ...progress(names, stored) }
  if (stored.state.phase !== "sign") delete annotations[names.annotations.oldRoot]
  const next = {
    ...object,
    metadata: { ...object.metadata, annotations },
    data: writeSecretData(writeStoredRoot(stored)),
  }
  try {
    return { object: await client.replace(SECRETS, next), stored }
  } catch (error) {
    if (error instanceof ApiError && error.code === CONFLICT) return undefined
    throw error
  }
}

export function makeRoot({ trustDomain, rootLifetimeMs, now }: RootSettings): AuthorityKeys {
  return createRoot({ trustDomain, lifetimeMs: rootLifetimeMs, now: now() })
}

export function unreadable(names: AuthorityNames, message: string): string {
  return (
    `${where(names)} cannot be used: ${message}; restore it from a backup. ` +
    "Deleting it gives the mesh a new root, which no running workload trusts"
  )
}

function ended({ stored }: RootSecret, names: AuthorityNames): string {
  const { namespace, rootSecret, annotations } = names
  const fingerprint = rootFingerprint(stored.state.current)
  return (
    `the root CA of the mesh in ${where(names)} has expired, so no peer trusts the certificates it signs; ` +
    `if the clock is right, replace it: kubectl annotate secret ${rootSecret} -n ${namespace} ${annotations.replaceExpired}=${fingerprint}`
  )
}

function where({ namespace, rootSecret }: AuthorityNames): string {
  return `the Secret \`${namespace}/${rootSecret}\``
}

/** Information for users; we do not read it. */
function progress({ annotations }: AuthorityNames, { state }: StoredRoot): Record<string, string> {
  return {
    [annotations.phase]: state.phase,
    [annotations.signingRoot]: rootFingerprint(state.current),
    ...(state.phase === "sign" ? { [annotations.oldRoot]: rootFingerprint(state.previous) } : {}),
  }
}

// SPDX-License-Identifier: Apache-2.0
// How this server authenticates to aggregated API servers: a client certificate of a dedicated authority, and headers
// that name the user. The backends read both settings from a ConfigMap in kube-system, as in Kubernetes.

import { randomUUID } from "node:crypto"
import { ClusterError } from "../errors.js"
import { metaOf } from "../meta/object-meta.js"
import type { User } from "../registry/context.js"
import { keyOf } from "../registry/kind.js"
import type { Registry } from "../registry/registry.js"
import { asString, dig, equal, type JsonObject } from "../value.js"
import { now } from "../wire/go-time.js"
import { stringify } from "../wire/json.js"

export interface FrontProxyCredentials {
  readonly caCertificate: string
  readonly certificate: string
  readonly key: string
}

/** Authorities that backends need in order to verify requests of this server. */
interface Published {
  /** The authority of client certificates. */
  readonly caCertificate: string
  readonly frontProxy: FrontProxyCredentials
}

export const FRONT_PROXY_NAME = "front-proxy-client"

export class FrontProxyIdentity {
  constructor(readonly credentials: FrontProxyCredentials) {}

  /** A header that occurs several times has a list of values. */
  headers({ name, uid, groups, extra }: User): Record<string, string | string[]> {
    const headers: Record<string, string | string[]> = { "X-Remote-User": encoded(name) }
    if (uid !== "") headers["X-Remote-Uid"] = encoded(uid)
    if (groups.length > 0) headers["X-Remote-Group"] = groups.map(encoded)
    for (const [key, values] of Object.entries(extra)) {
      if (values.length > 0) headers[`X-Remote-Extra-${encodeURIComponent(key)}`] = values.map(encoded)
    }
    return headers
  }
}

/** Header values are bytes. A value that Node would reject is an error instead of being changed. */
function encoded(text: string): string {
  if (/[\0\r\n]/.test(text)) throw new RangeError("a user's name with line breaks cannot be passed on")
  return Buffer.from(text).toString("latin1")
}

/**
 * Written at every start, because the authority may have changed. On a shared store an existing authority is not
 * replaced: a server with different keys would reject the tokens and certificates that the other servers issued.
 */
export async function publishFrontProxy(
  registry: Registry,
  { caCertificate: clientAuthority, frontProxy }: Published,
  isShared: boolean,
): Promise<void> {
  const kind = registry.catalog.builtin("", "v1", "configmaps")
  const key = keyOf(kind.info, "kube-system", "extension-apiserver-authentication")
  const stored = await registry.store.get(key)
  const theirs = asString(dig(stored?.object ?? {}, "data", "client-ca-file"))
  if (isShared && theirs !== "" && theirs.trim() !== clientAuthority.trim())
    throw new ClusterError(
      "store-keys",
      `the servers on this etcd have other keys: copy the folder \`pki\` of one of them into this one's data folder; where all of them are lost, remove \`${key}\` below the prefix`,
    )
  const data: JsonObject = {
    "client-ca-file": clientAuthority,
    "requestheader-allowed-names": JSON.stringify([FRONT_PROXY_NAME]),
    "requestheader-client-ca-file": withAuthority(
      asString(dig(stored?.object ?? {}, "data", "requestheader-client-ca-file")),
      frontProxy.caCertificate,
    ),
    "requestheader-extra-headers-prefix": JSON.stringify(["X-Remote-Extra-"]),
    "requestheader-group-headers": JSON.stringify(["X-Remote-Group"]),
    "requestheader-uid-headers": JSON.stringify(["X-Remote-Uid"]),
    "requestheader-username-headers": JSON.stringify(["X-Remote-User"]),
  }
  if (stored !== undefined && equal(stored.object.data, data)) return
  const metadata =
    stored === undefined
      ? {
          name: "extension-apiserver-authentication",
          namespace: "kube-system",
          uid: randomUUID(),
          creationTimestamp: now(registry.clock),
        }
      : metaOf(stored.object)
  const object = kind.toStored({ apiVersion: "v1", kind: "ConfigMap", metadata, data })
  const free = [{ key, modRevision: stored?.modRevision ?? 0 }]
  const written = await registry.store.commit(free, [{ key, value: stringify(object) }])
  // Another server has written meanwhile: the same content, or keys that are not ours.
  if (written === undefined) await publishFrontProxy(registry, { caCertificate: clientAuthority, frontProxy }, isShared)
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g
const MAX_AUTHORITIES = 16

/** Several servers on one store each have their own authority. */
function withAuthority(known: string, own: string): string {
  const others = (known.match(CERTIFICATE) ?? []).filter(one => one.trim() !== own.trim())
  return known.includes(own.trim()) ? known : [...others.slice(1 - MAX_AUTHORITIES), own].join("")
}

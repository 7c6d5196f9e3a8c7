// SPDX-License-Identifier: Apache-2.0
// A real server on a real port for tests: in-memory resources, tokens `good:<pod>`, its own authority.

import type { Log } from "../runtime/log.js"
import type { ServerLimits } from "../server/limits.js"
import type { SessionGrant } from "../server/listener.js"
import { MeshServer } from "../server/mesh-server.js"
import type { MeshServerObserver } from "../server/observer.js"
import type { ObservationSink } from "../server/serve-observations.js"
import type { Caller, Rejection } from "../server/source.js"
import { MemorySource } from "../server/testing/memory-source.js"
import { TestAuthority } from "./test-authority.js"

export interface ServerRigOptions {
  readonly limits?: Partial<ServerLimits>
  readonly observe?: MeshServerObserver
  readonly port?: number
  readonly observations?: ObservationSink
  readonly source?: MemorySource
  readonly authority?: TestAuthority
  readonly sessions?: SessionGrant
}

export async function serverRig({ port = 0, ...options }: ServerRigOptions = {}) {
  const authority = options.authority ?? new TestAuthority()
  const source = options.source ?? new MemorySource()
  const logged: { readonly fields: object; readonly message: string }[] = []
  const note = (fields: object, message: string) => void logged.push({ fields, message })
  const log: Log = { info: note, warn: note, error: note }
  const state = {
    credentials: authority.server(),
    clientTrustBundle: authority.bundle,
    sessions: options.sessions,
    revoked: new Set<string>(),
    gone: new Set<string>(), // uids of Pods
    now: undefined as number | undefined, // the real time, unless a test sets another
    tokens: "working" as "working" | "away" | "hanging",
    tokensEnd: undefined as number | undefined, // never, unless a test sets a time
  }
  const ends = () => (state.tokensEnd === undefined ? {} : { expiresAt: state.tokensEnd })
  const reports: (readonly [Caller, string, readonly string[]])[] = []
  const server = await MeshServer.start({
    host: "127.0.0.1",
    port,
    credentials: () => ({
      certificateChain: state.credentials.chain,
      privateKey: state.credentials.privateKey,
      clientTrustBundle: state.clientTrustBundle,
      sessions: state.sessions,
    }),
    async verifyToken(token) {
      if (state.tokens === "away") throw new Error("the API is away")
      if (state.tokens === "hanging") await new Promise(() => {})
      const pod = /^good:(.+)$/.exec(token)?.[1]
      if (pod === undefined) return undefined
      return {
        trustDomain: "cluster.local",
        namespace: "shop",
        serviceAccount: "orders",
        proof: "token",
        pod,
        ...ends(),
      }
    },
    checkCertificate({ id, serial, pod }): Caller | Rejection | undefined {
      if (state.revoked.has(serial)) return { code: "PERMISSION_DENIED", message: "the certificate is revoked" }
      if (id.trustDomain !== "cluster.local") return undefined
      const { trustDomain, namespace, serviceAccount } = id
      const bound = pod === undefined ? {} : { pod: pod.name, podUid: pod.uid }
      return { trustDomain, namespace, serviceAccount, proof: "certificate", serial, ...bound }
    },
    source,
    reject: ({ podUid = "" }) =>
      state.gone.has(podUid) ? { code: "PERMISSION_DENIED", message: "the pod is gone" } : undefined,
    async sign(caller, request, ttlSeconds, nodeId) {
      if (caller.namespace !== nodeId.split("/")[0]) return { code: "PERMISSION_DENIED", message: "not your pod" }
      if (request.length === 1) throw new Error("secret detail")
      return { certificateChain: `chain ${request.length} ${ttlSeconds}`, trustBundle: authority.bundle }
    },
    report: (caller, nodeId, unknownKeys) => void reports.push([caller, nodeId, unknownKeys]),
    log,
    now: () => state.now ?? Date.now(),
    ...(options.observations === undefined ? {} : { observations: options.observations }),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(options.observe === undefined ? {} : { observe: options.observe }),
  })
  return { server, authority, source, state, reports, logged, address: `127.0.0.1:${server.port}` }
}

export type ServerRig = Awaited<ReturnType<typeof serverRig>>

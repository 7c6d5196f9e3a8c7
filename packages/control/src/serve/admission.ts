// SPDX-License-Identifier: Apache-2.0
// Starts the webhooks: served by every replica, registered in the cluster and kept registered by the leader.

import { messageOf } from "@merlon/xds/runtime"
import { ApiServerCaller } from "../admission/api-server-caller.js"
import { CaptureReconciler } from "../admission/capture-reconciler.js"
import { admissionHandlers, type HandlerOptions } from "../admission/handlers.js"
import { caughtUp } from "../admission/invariants-copy.js"
import { registeredPath } from "../admission/webhook-path.js"
import { WebhookServer } from "../admission/webhook-server.js"
import type { Authority } from "../authority/authority.js"
import type { ChangeRecorder } from "../history/change-recorder.js"
import { installAnswers, installWebhooks, withdrawAnswers } from "../install/install.js"
import { VALIDATE_PATH, type WebhookAddress } from "../install/webhook-manifests.js"
import { isBeingDeleted, NAMESPACES } from "../kubernetes/resource-type.js"
import { pause, SYSTEM_TIME } from "../kubernetes/time.js"
import type { ControlMetrics } from "../observe/metrics.js"
import type { ControlTracer } from "../observe/tracer.js"
import type { ControlPlaneOptions } from "../options.js"
import type { PolicySource } from "../policies/stored-policy.js"
import type { Prover } from "../proofs/prover.js"
import { labelsOf } from "../registry/foreign.js"
import type { Registry } from "../registry/registry.js"
import type { Answers } from "./answers.js"
import { isServedByAnother } from "./other-replicas.js"
import type { Reflectors } from "./reflectors.js"

export interface AdmissionParts {
  readonly options: ControlPlaneOptions
  readonly authority: Authority
  readonly policies: PolicySource
  readonly prover: Prover
  readonly reflectors: Reflectors
  readonly registry: Registry
  readonly metrics: ControlMetrics
  readonly isLeader: () => boolean
  readonly tracer: ControlTracer
  readonly answers: Answers
  readonly recorder: Pick<ChangeRecorder, "admitted"> | undefined
}

export interface Admission {
  readonly port: number
  /** Registers the webhooks with the API server at once. */
  register(): void
  stop(): Promise<void>
}

/** The registration may have been deleted, or may point at a replica that has stopped. */
const LOOK_AGAIN_MS = 10_000
const RETRY_MS = 1_000
const LEAVE_MS = 3_000

export async function startAdmission(parts: AdmissionParts): Promise<Admission> {
  const { options, authority, isLeader } = parts
  const { client, mesh, listen, logger } = options
  const certificate = authority.serve("webhooks", options.servingNames)
  const credentials = () => ({ certificate: certificate.current.certificateChain, key: certificate.current.privateKey })
  // After a rotation of the root the old path stays registered until the leader has updated it.
  let secrets: readonly Buffer[] = [authority.sessions.secret]
  const caller = new ApiServerCaller({
    client,
    names: mesh.names,
    secrets: () => secrets,
    frontProxy: parts.answers.frontProxy,
    now: Date.now,
  })
  const server = new WebhookServer({
    authenticate: (path, asked) => caller.authenticate(path, asked),
    credentials: credentials(),
    handlers: admissionHandlers(handlerOptions(parts)),
    others: parts.answers.api,
    observe: ({ path, outcome }) => parts.metrics.reviewed(path, outcome),
    log: (message, error) => logger.warn({ error: messageOf(error) }, message),
  })
  const port = await server.listen(listen.webhookPort, listen.host)
  certificate.onChange(() => server.setKeyPair(credentials()))

  const webhook = addressOf(options, port)
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  const install = async (): Promise<void> => {
    clearTimeout(timer)
    if (stopped) return
    let again = LOOK_AGAIN_MS
    try {
      const { bundle } = authority.current
      await installWebhooks({
        client,
        names: mesh.names,
        caBundle: bundle,
        webhook,
        capture: options.injection.capture,
        pathOf: path => registeredPath(authority.sessions.secret, path, Date.now()),
      })
      if (options.answersApi) await installAnswers({ client, names: mesh.names, caBundle: bundle, webhook })
      else await withdrawAnswers({ client, names: mesh.names })
    } catch (error) {
      again = RETRY_MS
      logger.warn({ error: messageOf(error) }, "the webhooks could not be registered; retrying")
    }
    if (!stopped) timer = setTimeout(lookAgain, again).unref()
  }
  const register = (): void => {
    running = running.then(install)
  }
  const lookAgain = (): void => {
    if (isLeader()) register()
  }
  const unfollow = authority.onChange(() => {
    const { secret } = authority.sessions
    const [current] = secrets
    if (current === undefined || !secret.equals(current))
      secrets = [secret, ...(current === undefined ? [] : [current])]
    lookAgain()
  })
  const reconciler = new CaptureReconciler({
    client,
    names: mesh.names,
    fallback: options.injection.capture,
    namespaces: parts.reflectors.namespaces,
    pods: parts.reflectors.pods,
    isLeader,
    warn: (message, error) => logger.warn({ error: messageOf(error) }, message),
  })
  // On the first start every replica registers: there may be no leader yet, and until there is one, policies must not
  // be stored unchecked. A path without a secret comes from an older version, whose replicas serve no other path; then
  // only the leader registers.
  if ((await caller.registeredPaths()).has(VALIDATE_PATH)) lookAgain()
  else await install()
  return {
    port,
    register,
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      unfollow()
      await reconciler.stop()
      await running
      if (!isServedByAnother({ options, pods: parts.reflectors.pods, isLeader })) await leave(options)
      await server.close()
    },
  }
}

/** Has a time limit: an API that does not answer must not delay the end of the program. */
async function leave({ client, mesh, logger }: ControlPlaneOptions): Promise<void> {
  const withdrawn = withdrawAnswers({ client, names: mesh.names }).catch((error: unknown) =>
    logger.warn({ error: messageOf(error) }, "the answers API could not be unregistered"),
  )
  const enough = new AbortController()
  await Promise.race([withdrawn, pause(SYSTEM_TIME, LEAVE_MS, enough.signal)])
  enough.abort()
}

function addressOf({ webhooks, mesh }: ControlPlaneOptions, port: number): WebhookAddress {
  if ("url" in webhooks) return { url: webhooks.url(port) }
  return { service: { namespace: mesh.names.rootNamespace, name: webhooks.service, port: webhooks.port } }
}

function handlerOptions(parts: AdmissionParts): HandlerOptions {
  const { options, policies, prover, reflectors, registry, answers, recorder } = parts
  const { mesh, clusterDomain, injection } = options
  const { names } = mesh
  const serverName = `${names.mesh}d.${names.rootNamespace}.svc`
  return {
    mesh,
    clusterDomain,
    injection: {
      names,
      image: injection.image,
      capture: injection.capture,
      udp: injection.udp,
      outbound: injection.outbound,
      nativeSidecar: injection.nativeSidecar,
      ...(injection.resources && { resources: injection.resources }),
      controlPlane: { address: injection.controlPlane, serverName },
    },
    proofs: {
      policies,
      prover,
      cutOff: change => answers.seen.cutOff(change),
      // Fail closed: if the cluster does not answer, a rejection stays.
      caughtUp: () => caughtUp({ client: options.client, names, policies }).catch(() => false),
      isBeingDeleted: namespace => options.client.get(NAMESPACES, namespace).then(isBeingDeleted, () => false),
    },
    ...(recorder && { allowed: request => recorder.admitted(request) }),
    namespaceLabels: namespace => {
      const object = reflectors.namespaces.items.get(namespace)
      return object === undefined ? undefined : labelsOf(object.metadata.labels)
    },
    portsBehind: (namespace, selector) => {
      for (const { ports } of registry.select(selector, namespace)) return ports
      return undefined
    },
  }
}

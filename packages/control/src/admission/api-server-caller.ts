// SPDX-License-Identifier: Apache-2.0
// Checks that a webhook request comes from the API server: it knows the registered path, or presents a certificate of
// the authority that the API server publishes. The path that is currently registered is accepted too: after an upgrade
// that is a path without a secret, until the leader registers its own.

import type { IncomingMessage } from "node:http"
import type { MeshNames } from "@merlon/policy/mesh"
import { type FrontProxy, isApiServer } from "../answers/api/remote-user.js"
import { componentNames } from "../install/component-names.js"
import type { KubernetesClient } from "../kubernetes/client.js"
import { MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS } from "../kubernetes/resource-type.js"
import { listOf, objectOf, textOf } from "../registry/foreign.js"
import { openPath, plainPath } from "./webhook-path.js"

export interface ApiServerCallerOptions {
  readonly client: Pick<KubernetesClient, "get">
  readonly names: MeshNames
  /** Secrets from which paths may be derived: the current one and the previous one. */
  readonly secrets: () => readonly Buffer[]
  readonly frontProxy: () => FrontProxy | undefined
  readonly now: () => number
}

/** Any client can request any path, and each check costs requests to the API. */
const REMEMBER_MS = 1_000

export class ApiServerCaller {
  readonly #options: ApiServerCallerOptions
  #registered: { readonly paths: Promise<ReadonlySet<string>>; readonly at: number } | undefined

  constructor(options: ApiServerCallerOptions) {
    this.#options = options
  }

  /** The path of the webhook; undefined if the caller is not the API server. */
  async authenticate(path: string, asked: IncomingMessage): Promise<string | undefined> {
    const { secrets, frontProxy, now } = this.#options
    const opened = openPath(secrets(), path, now())
    if (opened !== undefined) return opened
    const front = frontProxy()
    if (front !== undefined && isApiServer(asked, front)) return path
    return (await this.registeredPaths()).has(path) ? plainPath(path) : undefined
  }

  /** The paths that are registered with the API server. */
  registeredPaths(): Promise<ReadonlySet<string>> {
    const at = this.#options.now()
    if (this.#registered === undefined || Math.abs(at - this.#registered.at) >= REMEMBER_MS) {
      // Fail closed: if the API cannot be read, no path counts as registered.
      this.#registered = { at, paths: this.#read().catch(() => new Set<string>()) }
    }
    return this.#registered.paths
  }

  async #read(): Promise<ReadonlySet<string>> {
    const { client, names } = this.#options
    const { validator, injector } = componentNames(names)
    const objects = await Promise.all([
      client.get(VALIDATING_WEBHOOKS, validator),
      client.get(MUTATING_WEBHOOKS, injector),
    ])
    const configs = objects
      .flatMap(object => listOf(objectOf(object).webhooks))
      .map(hook => objectOf(hook).clientConfig)
    // Without a CA bundle, no replica has served these webhooks yet.
    return new Set(configs.filter(config => textOf(objectOf(config).caBundle) !== undefined).map(pathOf))
  }
}

function pathOf(config: unknown): string {
  const { url, service } = objectOf(config)
  const text = textOf(url) ?? ""
  return textOf(objectOf(service).path) ?? (URL.canParse(text) ? new URL(text).pathname : "")
}

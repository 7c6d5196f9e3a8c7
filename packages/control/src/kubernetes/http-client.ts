// SPDX-License-Identifier: Apache-2.0
// The Kubernetes API over HTTP. Lists are read in pages, watches line by line. Objects in lists get the kind, which the
// API omits there.

import { objectOf, textOf } from "../registry/foreign.js"
import { statusError } from "./api-failure.js"
import { ApiError, type KubernetesClient, type ListOptions, type PatchOptions, type WatchEvent } from "./client.js"
import type { Connection } from "./connection.js"
import { type Query, resourcePath } from "./resource-path.js"
import type { KubernetesObject, ResourceType } from "./resource-type.js"
import type { Time } from "./time.js"
import { Transport } from "./transport.js"

export interface HttpClientOptions {
  readonly userAgent: string
  readonly fieldManager: string
  readonly timeoutMs?: number
  readonly pageSize?: number
  readonly time?: Time
  readonly random?: () => number
}

export interface HttpKubernetesClient extends KubernetesClient {
  /** Version of the API server; 1.36 is `{ major: 1, minor: 36, git: "v1.36.4" }`. */
  version(): Promise<{ readonly major: number; readonly minor: number; readonly git: string }>
  /** Closes all connections, including watches. */
  close(): Promise<void>
}

const TIMEOUT_MS = 30_000
const PAGE_SIZE = 500
/** How often a list may start again because its pages have expired; after that it is read in one piece. */
const MAX_RESTARTS = 2
/** Servers end a watch after this time, so that no half-open connection stays forever. Randomised, as in client-go. */
const WATCH_SECONDS = 300

const PATCH_CONTENT_TYPE = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  // JSON is valid YAML, and Kubernetes knows only this media type.
  apply: "application/apply-patch+yaml",
} as const

export function httpClient(connection: Connection, options: HttpClientOptions): HttpKubernetesClient {
  return new HttpClient(connection, options)
}

class HttpClient implements HttpKubernetesClient {
  readonly #transport: Transport
  readonly #fieldManager: string
  readonly #pageSize: number
  readonly #random: () => number

  constructor(connection: Connection, options: HttpClientOptions) {
    const { userAgent, timeoutMs = TIMEOUT_MS, random = Math.random, time } = options
    this.#transport = new Transport(connection, {
      userAgent,
      timeoutMs,
      random,
      stays: true,
      ...(time === undefined ? {} : { time }),
    })
    this.#fieldManager = options.fieldManager
    this.#pageSize = options.pageSize ?? PAGE_SIZE
    this.#random = random
  }

  async version(): Promise<{ readonly major: number; readonly minor: number; readonly git: string }> {
    const { major, minor, gitVersion } = objectOf(await this.#transport.request({ method: "GET", path: "/version" }))
    // Some providers return `30+`.
    const number = (text: unknown): number => Number.parseInt(textOf(text) ?? "", 10) || 0
    return { major: number(major), minor: number(minor), git: textOf(gitVersion) ?? "" }
  }

  async get<T extends KubernetesObject>(type: ResourceType, name: string, namespace?: string): Promise<T | undefined> {
    try {
      return read<T>(
        type,
        await this.#transport.request({ method: "GET", path: resourcePath(type, { namespace, name }) }),
      )
    } catch (error) {
      if (error instanceof ApiError && error.code === 404) return undefined
      throw error
    }
  }

  async list<T extends KubernetesObject>(
    type: ResourceType,
    options: ListOptions = {},
  ): Promise<{ readonly items: readonly T[]; readonly resourceVersion: string }> {
    for (let restarts = 0; ; restarts++) {
      try {
        return await this.#pages<T>(type, options, restarts > MAX_RESTARTS ? undefined : this.#pageSize)
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 410 || restarts > MAX_RESTARTS) throw error
      }
    }
  }

  async create<T extends KubernetesObject>(
    type: ResourceType,
    object: T,
    { dryRun = false }: { readonly dryRun?: boolean } = {},
  ): Promise<T> {
    const path = this.#writePath(type, { namespace: object.metadata.namespace }, dryRun ? { dryRun: "All" } : {})
    return read<T>(type, await this.#transport.request({ method: "POST", path, body: object }))
  }

  async replace<T extends KubernetesObject>(type: ResourceType, object: T, subresource?: string): Promise<T> {
    const { namespace, name } = object.metadata
    const path = this.#writePath(type, { namespace, name, subresource })
    return read<T>(type, await this.#transport.request({ method: "PUT", path, body: object }))
  }

  async patch<T extends KubernetesObject>(
    type: ResourceType,
    name: string,
    body: unknown,
    { namespace, subresource, type: patch = "merge" }: PatchOptions = {},
  ): Promise<T> {
    const path = this.#writePath(type, { namespace, name, subresource }, patch === "apply" ? { force: true } : {})
    const contentType = PATCH_CONTENT_TYPE[patch]
    return read<T>(type, await this.#transport.request({ method: "PATCH", path, body, contentType }))
  }

  async delete(type: ResourceType, name: string, namespace?: string): Promise<boolean> {
    try {
      await this.#transport.request({ method: "DELETE", path: resourcePath(type, { namespace, name }) })
      return true
    } catch (error) {
      if (error instanceof ApiError && error.code === 404) return false
      throw error
    }
  }

  async createSubresource<T>(
    type: ResourceType,
    name: string,
    subresource: string,
    body: unknown,
    namespace?: string,
  ): Promise<T> {
    const path = resourcePath(type, { namespace, name, subresource })
    return (await this.#transport.request({ method: "POST", path, body })) as T // the caller knows the type
  }

  async *watch<T extends KubernetesObject>(
    type: ResourceType,
    resourceVersion: string,
    { signal, namespace, labelSelector, fieldSelector }: ListOptions & { readonly signal: AbortSignal },
  ): AsyncIterable<WatchEvent<T>> {
    const timeoutSeconds = Math.round(WATCH_SECONDS * (1 + this.#random()))
    const query = { watch: 1, allowWatchBookmarks: true, resourceVersion, timeoutSeconds, labelSelector, fieldSelector }
    const path = resourcePath(type, { namespace }, query)
    for await (const line of this.#transport.lines({ method: "GET", path }, signal)) yield watchEvent<T>(type, line)
  }

  close(): Promise<void> {
    return this.#transport.close()
  }

  async #pages<T extends KubernetesObject>(
    type: ResourceType,
    { namespace, labelSelector, fieldSelector }: ListOptions,
    limit: number | undefined,
  ): Promise<{ readonly items: readonly T[]; readonly resourceVersion: string }> {
    const items: T[] = []
    let next: string | undefined
    for (;;) {
      const query: Query = { labelSelector, fieldSelector, limit, continue: next }
      const page = listPage(
        await this.#transport.request({ method: "GET", path: resourcePath(type, { namespace }, query) }),
      )
      for (const item of page.items) items.push(read<T>(type, item))
      if (page.next === undefined) return { items, resourceVersion: page.resourceVersion }
      next = page.next
    }
  }

  #writePath(type: ResourceType, place: Parameters<typeof resourcePath>[1], query: Query = {}): string {
    return resourcePath(type, place, { fieldManager: this.#fieldManager, ...query })
  }
}

function listPage(body: unknown) {
  const { items, metadata } = body as { items?: unknown; metadata?: { resourceVersion?: unknown; continue?: unknown } } // checked below
  if (
    (!Array.isArray(items) && items !== null && items !== undefined) ||
    typeof metadata?.resourceVersion !== "string"
  ) {
    throw ApiError.unanswered("api-bad-response", "the API server did not answer with a list")
  }
  const next = metadata.continue
  return {
    // Go encodes an empty list as null.
    items: (items ?? []) as unknown[], // an array or nothing, by the check above
    resourceVersion: metadata.resourceVersion,
    next: typeof next === "string" && next !== "" ? next : undefined,
  }
}

/** Checks only the fields that every reader relies on; readers check specs themselves. */
function read<T extends KubernetesObject>({ group, version, kind }: ResourceType, value: unknown): T {
  const object = value as Partial<KubernetesObject> | null // checked on the next lines
  // A review is answered with the kind of the request and without a name.
  if (typeof object !== "object" || object === null || Array.isArray(object)) {
    throw ApiError.unanswered("api-bad-response", `the API server did not answer with a ${kind}`)
  }
  const apiVersion = group === "" ? version : `${group}/${version}`
  // The caller names the type together with its kind.
  return { ...object, apiVersion: object.apiVersion ?? apiVersion, kind: object.kind ?? kind } as unknown as T
}

function watchEvent<T extends KubernetesObject>(type: ResourceType, line: string): WatchEvent<T> {
  let event: { type?: unknown; object?: unknown }
  try {
    event = { ...JSON.parse(line) }
  } catch {
    throw ApiError.unanswered("api-bad-response", "the API server sent a watch event that is not JSON")
  }
  switch (event.type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
    case "BOOKMARK":
      return { type: event.type, object: read<T>(type, event.object) }
    case "ERROR":
      throw statusError(0, event.object)
    default:
      throw ApiError.unanswered(
        "api-bad-response",
        `the API server sent a watch event of unknown type \`${String(event.type)}\``,
      )
  }
}

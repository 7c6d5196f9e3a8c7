// SPDX-License-Identifier: Apache-2.0
// A registry with its own store for tests of code that uses it: no admission, and a clock that tests set.

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bootstrap } from "../bootstrap.js"
import { Catalog } from "../registry/catalog.js"
import type { RequestContext } from "../registry/context.js"
import { deleteObject } from "../registry/deletion.js"
import { Registry } from "../registry/registry.js"
import type { Admission } from "../registry/write-pipeline.js"
import { openEmbeddedStore } from "../store/embedded/open.js"
import type { Store } from "../store/store.js"
import type { JsonObject } from "../value.js"

const OPEN: Admission = {
  authorizeCreate: () => Promise.resolve(),
  mutate: (_kind, request) => Promise.resolve(request.object ?? {}),
  validate: () => Promise.resolve(),
}

/** A built-in resource, identified by the parts of its path. */
export interface Resource {
  readonly group?: string
  readonly plural: string
}

interface Controller {
  start(): Promise<void>
  close(): Promise<void>
}

export class RegistryBench {
  now = Date.parse("2026-01-01T00:00:00Z")
  /** The validation of admission; a test may replace it. */
  validate: Admission["validate"] = (...review) => OPEN.validate(...review)
  readonly registry: Registry
  readonly #running: Controller[] = []

  private constructor(
    readonly store: Store,
    readonly folder: string,
  ) {
    const admission = { ...OPEN, validate: (...call: Parameters<Admission["validate"]>) => this.validate(...call) }
    this.registry = new Registry(store, new Catalog(), admission, () => this.now)
  }

  static async start(): Promise<RegistryBench> {
    const folder = await mkdtemp(join(tmpdir(), "registry-"))
    const bench = new RegistryBench(await openEmbeddedStore(folder), folder)
    await bootstrap(bench.registry)
    return bench
  }

  /** Runs the controllers until `stop`. */
  async run(...controllers: readonly Controller[]): Promise<void> {
    for (const controller of controllers) {
      await controller.start()
      this.#running.push(controller)
    }
  }

  async create({ group = "", plural }: Resource, namespace: string, object: JsonObject): Promise<JsonObject> {
    const kind = this.registry.catalog.builtin(group, "v1", plural)
    return this.registry.create(kind, kind.decode(object).object, this.#context(namespace, ""), {})
  }

  async remove({ group = "", plural }: Resource, namespace: string, name: string, options = {}): Promise<JsonObject> {
    const kind = this.registry.catalog.builtin(group, "v1", plural)
    return (await deleteObject(this.registry, kind, this.#context(namespace, name), options, {})).answer
  }

  async stop(): Promise<void> {
    for (const controller of this.#running.splice(0)) await controller.close()
    await this.store.close()
    await rm(this.folder, { recursive: true, force: true })
  }

  #context(namespace: string, name: string): RequestContext {
    return {
      ...{ user: { name: "u", uid: "", groups: [], extra: {} }, namespace, name, subresource: "", dryRun: false },
      ...{
        fieldManager: "t",
        fieldValidation: "Ignore",
        warn: () => undefined,
        now: () => this.now,
        signal: undefined,
      },
    }
  }
}

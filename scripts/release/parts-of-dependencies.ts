// SPDX-License-Identifier: Apache-2.0
// Bundles only the parts of these dependencies that we use. All of undici, with fetch, caches, mocks and WebSockets,
// took longer to load than anything else in a command. prom-client's default metrics, and the tracing that they need,
// were a twelfth of a proxy's script.

import type { Plugin } from "esbuild"

/** A missing part is an error when a program is bundled, not when it runs. */
const PARTS: Readonly<Record<string, string>> = {
  undici: `import api from "undici/lib/api/index.js"
import Dispatcher from "undici/lib/dispatcher/dispatcher.js"
// As its own index does.
Object.assign(Dispatcher.prototype, api)
export { default as buildConnector } from "undici/lib/core/connect.js"
export { default as Agent } from "undici/lib/dispatcher/agent.js"
export { default as Client } from "undici/lib/dispatcher/client.js"
export { default as Pool } from "undici/lib/dispatcher/pool.js"`,
  "prom-client": `export { default as AggregatorRegistry } from "prom-client/lib/cluster.js"
export { default as Counter } from "prom-client/lib/counter.js"
export { default as Gauge } from "prom-client/lib/gauge.js"
export { default as Histogram } from "prom-client/lib/histogram.js"
export { default as Registry } from "prom-client/lib/registry.js"`,
}
const filter = new RegExp(`^(${Object.keys(PARTS).join("|")})$`)

export const partsOfDependencies: Plugin = {
  name: "parts-of-dependencies",
  setup(plugin) {
    plugin.onResolve({ filter }, ({ path }) => ({ path, namespace: "parts", sideEffects: true }))
    plugin.onLoad({ filter, namespace: "parts" }, ({ path }) => ({
      contents: PARTS[path] ?? "",
      loader: "js",
      resolveDir: process.cwd(),
    }))
  },
}

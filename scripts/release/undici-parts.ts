// SPDX-License-Identifier: Apache-2.0
// Of undici a program gets the parts that we use. The whole of it, with fetch, caches, mocks and WebSockets, took longer to
// load than anything else that every command of a person waits for.

import type { Plugin } from "esbuild"

/** What is not named here is an error when a program is bundled, not a surprise when it runs. */
const PARTS = `import api from "undici/lib/api/index.js"
import Dispatcher from "undici/lib/dispatcher/dispatcher.js"
// As its own index does.
Object.assign(Dispatcher.prototype, api)
export { default as buildConnector } from "undici/lib/core/connect.js"
export { default as Agent } from "undici/lib/dispatcher/agent.js"
export { default as Client } from "undici/lib/dispatcher/client.js"
export { default as Pool } from "undici/lib/dispatcher/pool.js"`

export const undiciParts: Plugin = {
  name: "undici-parts",
  setup(plugin) {
    plugin.onResolve({ filter: /^undici$/ }, ({ path }) => ({ path, namespace: "undici-parts", sideEffects: true }))
    plugin.onLoad({ filter: /^undici$/, namespace: "undici-parts" }, () => ({
      contents: PARTS,
      loader: "js",
      resolveDir: process.cwd(),
    }))
  },
}

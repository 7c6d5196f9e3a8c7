// SPDX-License-Identifier: Apache-2.0
// A control plane that was started without any flags, in one mesh for all tests: each part has its own namespaces.
// Revocation comes first, since it counts all connected proxies.

import { afterAll, beforeAll } from "vitest"
import { admitted } from "./one-mesh/admitted.js"
import { authorizer } from "./one-mesh/authorizer.js"
import { forgedAcknowledgements } from "./one-mesh/forged-acknowledgements.js"
import { propagation } from "./one-mesh/propagation.js"
import { recordedChanges } from "./one-mesh/recorded-changes.js"
import { revocation } from "./one-mesh/revocation.js"
import { slowProxies } from "./one-mesh/slow-proxies.js"
import { traces } from "./one-mesh/traces.js"
import { Mesh } from "./support/mesh.js"

let mesh: Mesh

beforeAll(async () => {
  mesh = await Mesh.start()
})
afterAll(() => mesh.close())

const parts = [
  revocation,
  admitted,
  recordedChanges,
  propagation,
  authorizer,
  forgedAcknowledgements,
  slowProxies,
  traces,
]
for (const part of parts) part(() => mesh)

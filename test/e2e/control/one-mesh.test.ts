// SPDX-License-Identifier: Apache-2.0
// What a control plane does that was started without any flags, in one mesh for all of it: each part has namespaces of its own.
// Revocation comes first, since it counts all proxies that are connected.

import { afterAll, beforeAll } from "vitest"
import { admitted } from "./one-mesh/admitted.js"
import { authorizer } from "./one-mesh/authorizer.js"
import { forgedAcknowledgements } from "./one-mesh/forged-acknowledgements.js"
import { propagation } from "./one-mesh/propagation.js"
import { revocation } from "./one-mesh/revocation.js"
import { slowProxies } from "./one-mesh/slow-proxies.js"
import { traces } from "./one-mesh/traces.js"
import { Mesh } from "./support/mesh.js"

let mesh: Mesh

beforeAll(async () => {
  mesh = await Mesh.start()
})
afterAll(() => mesh.close())

const parts = [revocation, admitted, propagation, authorizer, forgedAcknowledgements, slowProxies, traces]
for (const part of parts) part(() => mesh)

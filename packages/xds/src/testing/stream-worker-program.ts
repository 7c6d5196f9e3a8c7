// SPDX-License-Identifier: Apache-2.0
// The program of a worker that holds connections, for tests.

import { MeshServer } from "../server/mesh-server.js"

await MeshServer.work()

// SPDX-License-Identifier: Apache-2.0
// Starts a node with our images, runs a command in its network with KUBECONFIG set and its programs first on the PATH,
// and stops the node when the command ends: `npx tsx test/kubernetes/node/with-node.ts bash`.

import { spawn } from "node:child_process"
import { once } from "node:events"
import { delimiter } from "node:path"
import { buildImages } from "./images.js"
import { KubernetesNode } from "./kubernetes-node.js"
import { PROGRAMS_FOLDER, whatIsMissing } from "./programs.js"

const command = process.argv.slice(2)
if (command.length === 0) throw new Error("name the command to run, for example `bash`")
const missing = whatIsMissing()
if (missing.length > 0) throw new Error(`a node cannot be started; there is missing: ${missing.join("; ")}`)

const node = await KubernetesNode.start(buildImages().archives)
const [first = "", ...rest] = [...node.inside, ...command]
const env = {
  ...process.env,
  KUBECONFIG: node.kubeconfig,
  PATH: [PROGRAMS_FOLDER, process.env.PATH].join(delimiter),
}
const child = spawn(first, rest, { env, stdio: "inherit" })
// Signals are forwarded to the command; the node stops after it.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal))
const [code] = await once(child, "exit")
await node.stop()
process.exitCode = code ?? 1

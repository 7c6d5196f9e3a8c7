// SPDX-License-Identifier: Apache-2.0
// The command line of merlond. Only the requested command is loaded: a proxy must not load an API server.

import { Command } from "commander"
import { VERSION } from "./version.js"

const COMMANDS: Readonly<Record<string, { readonly summary: string; readonly load: () => Promise<Command> }>> = {
  authorizer: {
    summary: "Answer authorization requests of gateways: Envoy, nginx, Traefik, Caddy",
    load: async () => (await import("./commands/authorizer.js")).authorizerCommand(),
  },
  capture: {
    summary: "Redirect the connections of a Pod to its proxy (needs NET_ADMIN)",
    load: async () => (await import("./commands/capture.js")).captureCommand(),
  },
  cluster: {
    summary: "Serve the Kubernetes API without Kubernetes",
    load: async () => (await import("./commands/cluster.js")).clusterCommand(),
  },
  drain: {
    summary: "Make the proxy of a terminating Pod drain its callers",
    load: async () => (await import("./commands/drain.js")).drainCommand(),
  },
  hold: {
    summary: "Run a program that stops when its supervisor does (for local meshes)",
    load: async () => (await import("./commands/hold.js")).holdCommand(),
  },
  proxy: {
    summary: "Run the proxy of a workload for both directions: enforce its policies, and send its calls over mTLS",
    load: async () => (await import("./commands/proxy.js")).proxyCommand(),
  },
  "repair-store": {
    summary: "Show what a damaged embedded store has lost, or repair it",
    load: async () => (await import("./commands/repair-store.js")).repairStoreCommand(),
  },
  serve: {
    summary: "Run the control plane",
    load: async () => (await import("./commands/serve.js")).serveCommand(),
  },
  wait: {
    summary: "Wait until the proxy of this Pod is ready",
    load: async () => (await import("./commands/wait.js")).waitCommand(),
  },
  xclient: {
    summary: "Show the routes of this workload, send calls, or serve as an outbound proxy",
    load: async () => (await import("./commands/xclient.js")).xclientCommand(),
  },
  xserver: {
    summary: "Run the inbound proxy of a workload and enforce its policies",
    load: async () => (await import("./commands/xserver.js")).xserverCommand(),
  },
}

/** The program with the requested command in full and the others by name. `*` loads all of them. */
export async function merlondProgram(asked: string): Promise<Command> {
  const program = new Command("merlond")
    .description("Run the parts of the mesh: control plane, proxies and embedded cluster")
    .version(VERSION, "-V, --version", "Show the version")
    .showHelpAfterError("(see `merlond --help`)")
  for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
    program.addCommand(name === asked || asked === "*" ? await load() : new Command(name).description(summary))
  }
  return program
}

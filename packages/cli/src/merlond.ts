#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The program that runs on machines and in pods. What people type is merlonctl. Only the command that is asked for is
// loaded: a proxy must not carry an API server around, nor wait for one to be read.

import cluster from "node:cluster"
import { Command } from "commander"
import { describeError } from "./describe-error.js"
import { VERSION } from "./version.js"

const COMMANDS: Readonly<Record<string, { readonly summary: string; readonly load: () => Promise<Command> }>> = {
  capture: {
    summary: "lead a pod's inbound connections to its xserver; needs NET_ADMIN",
    load: async () => (await import("./commands/capture.js")).captureCommand(),
  },
  cluster: {
    summary: "serve the Kubernetes API where there is no Kubernetes",
    load: async () => (await import("./commands/cluster.js")).clusterCommand(),
  },
  drain: {
    summary: "tell the xserver of a terminating Pod to send its callers elsewhere",
    load: async () => (await import("./commands/drain.js")).drainCommand(),
  },
  hold: {
    summary: "run a program that ends when its supervisor does; for local meshes",
    load: async () => (await import("./commands/hold.js")).holdCommand(),
  },
  proxy: {
    summary: "run both directions of a workload: enforce its policies, and carry its calls over mutual TLS",
    load: async () => (await import("./commands/proxy.js")).proxyCommand(),
  },
  "repair-store": {
    summary: "show what a damaged embedded store has lost, or keep what is left of it",
    load: async () => (await import("./commands/repair-store.js")).repairStoreCommand(),
  },
  serve: {
    summary: "run the control plane",
    load: async () => (await import("./commands/serve.js")).serveCommand(),
  },
  wait: {
    summary: "wait until the proxy of this Pod is ready",
    load: async () => (await import("./commands/wait.js")).waitCommand(),
  },
  xclient: {
    summary: "show the routes of this workload, call by them, or let other programs do so",
    load: async () => (await import("./commands/xclient.js")).xclientCommand(),
  },
  xserver: {
    summary: "stand in front of a workload and enforce its policies",
    load: async () => (await import("./commands/xserver.js")).xserverCommand(),
  },
}

async function main(): Promise<void> {
  const program = new Command("merlond")
    .description("mesh security policy: what runs on machines and in pods")
    .version(VERSION, "-V, --version", "say which version this is")
    .showHelpAfterError("(merlond COMMAND --help explains)")
  const asked = process.argv[2] ?? ""
  for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
    program.addCommand(name === asked ? await load() : new Command(name).description(summary))
  }
  await program.parseAsync()
}

async function run(): Promise<void> {
  if (cluster.isPrimary) await main()
  else (await import("./commands/xserver.js")).runWorker()
}

run().catch((error: unknown) => {
  process.stderr.write(`merlond: ${describeError(error)}\n`)
  process.exit(1)
})

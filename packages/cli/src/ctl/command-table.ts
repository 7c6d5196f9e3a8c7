// SPDX-License-Identifier: Apache-2.0
// The commands of merlonctl. Only the one that is asked for is loaded; the others are known by their summary.

import type { Command } from "commander"

export interface CommandEntry {
  readonly summary: string
  /** Is given the command line with every command in full, for the one that completes them. */
  readonly load: (wholeProgram: () => Promise<Command>) => Promise<Command>
}

export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  up: {
    summary: "start a mesh on this machine",
    load: async () => (await import("./commands/up.js")).upCommand(),
  },
  run: {
    summary: "run a program of yours in it, behind a proxy",
    load: async () => (await import("./commands/run.js")).runCommand(),
  },
  stop: {
    summary: "stop a program of yours in it",
    load: async () => (await import("./commands/stop.js")).stopCommand(),
  },
  down: { summary: "stop it", load: async () => (await import("./commands/down.js")).downCommand() },
  status: { summary: "show what runs of it", load: async () => (await import("./commands/status.js")).statusCommand() },
  dashboard: {
    summary: "open the web console, signed in",
    load: async () => (await import("./commands/dashboard.js")).dashboardCommand(),
  },
  exec: {
    summary: "run a program as one of its workloads",
    load: async () => (await import("./commands/exec.js")).execCommand(),
  },
  logs: {
    summary: "show what one of its processes has written",
    load: async () => (await import("./commands/logs.js")).logsCommand(),
  },
  apply: {
    summary: "bring the cluster to what files say",
    load: async () => (await import("./commands/apply.js")).applyCommand(),
  },
  get: { summary: "show objects", load: async () => (await import("./commands/get.js")).getCommand() },
  patch: {
    summary: "change some fields of an object",
    load: async () => (await import("./commands/patch.js")).patchCommand(),
  },
  delete: { summary: "remove objects", load: async () => (await import("./commands/delete.js")).deleteCommand() },
  check: {
    summary: "say whether the mesh is well",
    load: async () => (await import("./commands/check.js")).checkCommand(),
  },
  wait: {
    summary: "wait until objects are Ready or gone",
    load: async () => (await import("./commands/wait.js")).waitCommand(),
  },
  install: {
    summary: "put the control plane into a cluster",
    load: async () => (await import("./commands/install.js")).installCommand(),
  },
  upgrade: {
    summary: "bring it to this version, or to other values",
    load: async () => (await import("./commands/install.js")).upgradeCommand(),
  },
  uninstall: {
    summary: "take it out again",
    load: async () => (await import("./commands/uninstall.js")).uninstallCommand(),
  },
  manifest: {
    summary: "print what an installation consists of",
    load: async () => (await import("./commands/manifest.js")).manifestCommand(),
  },
  "who-can": {
    summary: "prove who can reach a workload",
    load: async () => (await import("./commands/who-can.js")).whoCanCommand(),
  },
  "what-can": {
    summary: "prove what an identity can reach",
    load: async () => (await import("./commands/what-can.js")).whatCanCommand(),
  },
  analyze: {
    summary: "find dead rules, contradictions and traps",
    load: async () => (await import("./commands/analyze.js")).analyzeCommand(),
  },
  diff: {
    summary: "prove what a change of policies changes",
    load: async () => (await import("./commands/diff.js")).diffCommand(),
  },
  suggest: {
    summary: "write least-privilege policies from what was seen",
    load: async () => (await import("./commands/suggest.js")).suggestCommand(),
  },
  promote: {
    summary: "enforce a policy that is in Shadow",
    load: async () => (await import("./commands/promote.js")).promoteCommand(),
  },
  explain: {
    summary: "say why a request is allowed or refused",
    load: async () => (await import("./commands/explain.js")).explainCommand(),
  },
  decisions: {
    summary: "show what proxies decide",
    load: async () => (await import("./commands/decisions.js")).decisionsCommand(),
  },
  describe: {
    summary: "tell everything of a workload",
    load: async () => (await import("./commands/describe.js")).describeCommand(),
  },
  rules: {
    summary: "show how often each rule settled a call",
    load: async () => (await import("./commands/rules.js")).rulesCommand(),
  },
  mtls: {
    summary: "say whether STRICT is safe now",
    load: async () => (await import("./commands/mtls.js")).mtlsCommand(),
  },
  proxy: {
    summary: "show every proxy, its revision and its lag",
    load: async () => (await import("./commands/proxy.js")).proxyCommand(),
  },
  test: {
    summary: "run the tests that stand beside policies",
    load: async () => (await import("./commands/test.js")).testCommand(),
  },
  inject: {
    summary: "print Pods as they would be with an xserver",
    load: async () => (await import("./commands/inject.js")).injectCommand(),
  },
  import: {
    summary: "bring manifests of another mesh",
    load: async () => (await import("./commands/import.js")).importCommand(),
  },
  workload: {
    summary: "declare workloads that no orchestrator runs",
    load: async () => (await import("./commands/workload.js")).workloadCommand(),
  },
  invite: {
    summary: "let another machine join as one workload",
    load: async () => (await import("./commands/invite.js")).inviteCommand(),
  },
  join: {
    summary: "take an invitation on the machine it is for",
    load: async () => (await import("./commands/join.js")).joinCommand(),
  },
  jwt: {
    summary: "keys, tokens and key sets for trying things out",
    load: async () => (await import("./commands/jwt.js")).jwtCommand(),
  },
  version: {
    summary: "say which version this is",
    load: async () => (await import("./commands/version.js")).versionCommand(),
  },
  completion: {
    summary: "what a shell needs to complete commands",
    load: async wholeProgram => (await import("./commands/completion.js")).completionCommand(wholeProgram),
  },
}

// SPDX-License-Identifier: Apache-2.0
// The commands of merlonctl. Only the requested one is loaded; for the others only the summary is known.

import type { Command } from "commander"

export interface CommandEntry {
  readonly summary: string
  /** Gets a loader of the whole program, for the command that generates completions. */
  readonly load: (wholeProgram: () => Promise<Command>) => Promise<Command>
}

export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  up: {
    summary: "Start a mesh on this machine",
    load: async () => (await import("./commands/up.js")).upCommand(),
  },
  run: {
    summary: "Run a program in the local mesh, behind a proxy",
    load: async () => (await import("./commands/run.js")).runCommand(),
  },
  stop: {
    summary: "Stop a program in the local mesh",
    load: async () => (await import("./commands/stop.js")).stopCommand(),
  },
  down: { summary: "Stop the local mesh", load: async () => (await import("./commands/down.js")).downCommand() },
  status: { summary: "Show the local mesh", load: async () => (await import("./commands/status.js")).statusCommand() },
  dashboard: {
    summary: "Open the web console, signed in",
    load: async () => (await import("./commands/dashboard.js")).dashboardCommand(),
  },
  exec: {
    summary: "Run a program with the identity of a local workload",
    load: async () => (await import("./commands/exec.js")).execCommand(),
  },
  logs: {
    summary: "Show the log of a local process",
    load: async () => (await import("./commands/logs.js")).logsCommand(),
  },
  apply: {
    summary: "Create or update objects from files",
    load: async () => (await import("./commands/apply.js")).applyCommand(),
  },
  get: { summary: "Show objects", load: async () => (await import("./commands/get.js")).getCommand() },
  patch: {
    summary: "Change fields of an object",
    load: async () => (await import("./commands/patch.js")).patchCommand(),
  },
  delete: { summary: "Delete objects", load: async () => (await import("./commands/delete.js")).deleteCommand() },
  check: {
    summary: "Check mesh health",
    load: async () => (await import("./commands/check.js")).checkCommand(),
  },
  wait: {
    summary: "Wait until objects are Ready or deleted",
    load: async () => (await import("./commands/wait.js")).waitCommand(),
  },
  install: {
    summary: "Install the control plane in a cluster",
    load: async () => (await import("./commands/install.js")).installCommand(),
  },
  upgrade: {
    summary: "Upgrade the control plane, or change its values",
    load: async () => (await import("./commands/install.js")).upgradeCommand(),
  },
  uninstall: {
    summary: "Uninstall the control plane",
    load: async () => (await import("./commands/uninstall.js")).uninstallCommand(),
  },
  manifest: {
    summary: "Print the manifests of an installation",
    load: async () => (await import("./commands/manifest.js")).manifestCommand(),
  },
  "who-can": {
    summary: "Prove who can reach a workload",
    load: async () => (await import("./commands/who-can.js")).whoCanCommand(),
  },
  "what-can": {
    summary: "Prove what an identity can reach",
    load: async () => (await import("./commands/what-can.js")).whatCanCommand(),
  },
  analyze: {
    summary: "Find dead rules, contradictions and mistakes",
    load: async () => (await import("./commands/analyze.js")).analyzeCommand(),
  },
  diff: {
    summary: "Prove which requests a change of policies affects",
    load: async () => (await import("./commands/diff.js")).diffCommand(),
  },
  history: {
    summary: "Show who changed policies, and what that allowed and denied",
    load: async () => (await import("./commands/history.js")).historyCommand(),
  },
  suggest: {
    summary: "Suggest least-privilege policies from observed traffic",
    load: async () => (await import("./commands/suggest.js")).suggestCommand(),
  },
  promote: {
    summary: "Enforce a policy that is in shadow mode",
    load: async () => (await import("./commands/promote.js")).promoteCommand(),
  },
  explain: {
    summary: "Explain why a request is allowed or denied",
    load: async () => (await import("./commands/explain.js")).explainCommand(),
  },
  decisions: {
    summary: "Show decisions of proxies",
    load: async () => (await import("./commands/decisions.js")).decisionsCommand(),
  },
  describe: {
    summary: "Show everything about a workload",
    load: async () => (await import("./commands/describe.js")).describeCommand(),
  },
  rules: {
    summary: "Show how often each rule decided a call",
    load: async () => (await import("./commands/rules.js")).rulesCommand(),
  },
  mtls: {
    summary: "Show whether STRICT is safe now",
    load: async () => (await import("./commands/mtls.js")).mtlsCommand(),
  },
  proxy: {
    summary: "Show proxies, their revision and lag",
    load: async () => (await import("./commands/proxy.js")).proxyCommand(),
  },
  test: {
    summary: "Run policy tests",
    load: async () => (await import("./commands/test.js")).testCommand(),
  },
  inject: {
    summary: "Print manifests with the proxy injected",
    load: async () => (await import("./commands/inject.js")).injectCommand(),
  },
  import: {
    summary: "Convert manifests of another mesh",
    load: async () => (await import("./commands/import.js")).importCommand(),
  },
  workload: {
    summary: "Declare workloads that run outside Kubernetes",
    load: async () => (await import("./commands/workload.js")).workloadCommand(),
  },
  invite: {
    summary: "Invite another machine to join as a workload",
    load: async () => (await import("./commands/invite.js")).inviteCommand(),
  },
  join: {
    summary: "Join this machine to a mesh with an invitation",
    load: async () => (await import("./commands/join.js")).joinCommand(),
  },
  jwt: {
    summary: "Create keys, tokens and key sets for tests",
    load: async () => (await import("./commands/jwt.js")).jwtCommand(),
  },
  version: {
    summary: "Show the version",
    load: async () => (await import("./commands/version.js")).versionCommand(),
  },
  mcp: {
    summary: "Answer questions of AI assistants over the Model Context Protocol",
    load: async () => (await import("./commands/mcp.js")).mcpCommand(),
  },
  completion: {
    summary: "Generate shell completion",
    load: async wholeProgram => (await import("./commands/completion.js")).completionCommand(wholeProgram),
  },
}

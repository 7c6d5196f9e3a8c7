// SPDX-License-Identifier: Apache-2.0
// `merlond xclient`: runs inside a workload. Shows its routes, calls services, or is a proxy for the calls of other
// programs.

import { MeshMember, OutboundProxy, parseExpectation, runXclient, type Shares, targetOf } from "@merlon/xclient"
import { type Bootstrap, readBootstrap } from "@merlon/xds/member"
import { isOwnUser, messageOf } from "@merlon/xds/runtime"
import { Command, InvalidArgumentError, Option } from "commander"
import { type Logger, pino } from "pino"
import { address, duration, whole } from "../arguments.js"
import { logDestination } from "../log-destination.js"

interface Flags {
  readonly bootstrap?: string
  readonly host?: string
  readonly port?: number
  readonly path: string
  readonly method: string
  readonly header: ReadonlyMap<string, string>
  readonly printRoute?: boolean
  readonly watch?: boolean
  readonly expect?: Shares
  readonly requestInterval: number
  readonly requestTimeout: number
  readonly waitTimeout: number
  readonly output: "text" | "json"
  readonly listen?: { readonly host: string; readonly port: number }
  readonly allowExternal?: boolean
  readonly allowRemote?: boolean
  readonly allowOtherUsers?: boolean
  readonly logLevel: string
}

const MAX_REQUESTS = 1_000_000
const DAY_MS = 24 * 3_600_000
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

export function xclientCommand(): Command {
  const option = (flags: string, description: string, env: string): Option => new Option(flags, description).env(env)
  return new Command("xclient")
    .description("Show the routes of this workload, send calls, or serve as an outbound proxy")
    .argument("[requests]", "how many requests to send", whole(1, MAX_REQUESTS), 20)
    .addOption(
      option("--bootstrap <file>", "join a mesh: YAML with control plane, workload, token", "MERLON_XCLIENT_BOOTSTRAP"),
    )
    .addOption(
      option(
        "--host <host>",
        "host to call: `web`, `web.app` or a full name, with or without :port",
        "MERLON_XCLIENT_HOST",
      ),
    )
    .addOption(
      option("--port <port>", "port to call (default: the one of --host, else 80)", "MERLON_XCLIENT_PORT").argParser(
        whole(1, 65_535),
      ),
    )
    .addOption(
      option("--path <path>", "path and query of the requests", "MERLON_XCLIENT_PATH").argParser(path).default("/"),
    )
    .addOption(
      option("--method <method>", "method of the requests", "MERLON_XCLIENT_METHOD").argParser(method).default("GET"),
    )
    .addOption(
      new Option("--header <name: value>", "header of the requests (repeatable)")
        .argParser(header)
        .default(new Map(), "none"),
    )
    .addOption(new Option("--print-route", "print the route as JSON and send nothing").conflicts(["watch", "listen"]))
    .addOption(
      new Option("--watch", "print a line for the route and for each change, until stopped").conflicts("listen"),
    )
    .addOption(
      option("--expect <shares>", "fail if the split differs, such as v1=50,v2=50", "MERLON_XCLIENT_EXPECT").argParser(
        expectation,
      ),
    )
    .addOption(
      option("--request-interval <duration>", "pause between requests", "MERLON_XCLIENT_REQUEST_INTERVAL")
        .argParser(pauseBetween)
        .default(0, "none"),
    )
    .addOption(
      option("--request-timeout <duration>", "timeout of each request", "MERLON_XCLIENT_REQUEST_TIMEOUT")
        .argParser(timeLimit)
        .default(5_000, "5s"),
    )
    .addOption(
      option(
        "--wait-timeout <duration>",
        "how long to wait for a complete and expected route",
        "MERLON_XCLIENT_WAIT_TIMEOUT",
      )
        .argParser(timeLimit)
        .default(30_000, "30s"),
    )
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"))
    .addOption(
      option(
        "--listen <host:port>",
        "serve as a proxy for programs with http_proxy, such as 127.0.0.1:15001",
        "MERLON_XCLIENT_LISTEN",
      ).argParser(address),
    )
    .addOption(new Option("--allow-external", "with --listen: also call hosts outside the mesh, in plaintext"))
    .addOption(new Option("--allow-remote", "with --listen: allow addresses that other machines can reach"))
    .addOption(
      new Option(
        "--allow-other-users",
        "with --listen: also accept calls of other local users, such as other containers of a Pod",
      ),
    )
    .addOption(
      option("--log-level <level>", "level of the log on standard error", "MERLON_XCLIENT_LOG_LEVEL")
        .choices(["debug", "info", "warn", "error", "silent"])
        .default("error"),
    )
    .action((count: number, flags: Flags) => run(count, flags))
}

async function run(count: number, flags: Flags): Promise<void> {
  const logger = pino({ level: flags.logLevel, base: null }, logDestination())
  const bootstrap = bootstrapOf(flags)
  const stop = new AbortController()
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort())
  // The reader of our output may have closed the pipe.
  process.stdout.on("error", () => stop.abort())
  const code =
    flags.listen === undefined
      ? await check(count, flags, bootstrap, logger, stop.signal)
      : await serveProxy(flags.listen, flags, bootstrap, logger, stop.signal)
  process.exit(code)
}

function check(
  requests: number,
  flags: Flags,
  bootstrap: Bootstrap,
  log: Logger,
  signal: AbortSignal,
): Promise<number> {
  const action = flags.printRoute === true ? "print-route" : flags.watch === true ? "watch" : "send"
  return runXclient(
    {
      bootstrap,
      log,
      target: targetOf(flags, process.env, bootstrap.names.mesh),
      action,
      expected: flags.expect,
      requests,
      method: flags.method,
      path: flags.path,
      headers: flags.header,
      requestIntervalMs: flags.requestInterval,
      requestTimeoutMs: flags.requestTimeout,
      waitTimeoutMs: flags.waitTimeout,
      output: flags.output,
    },
    {
      out: line => process.stdout.write(`${line}\n`),
      err: line => process.stderr.write(`xclient: ${line}\n`),
      signal,
    },
  )
}

async function serveProxy(
  listen: { readonly host: string; readonly port: number },
  flags: Flags,
  bootstrap: Bootstrap,
  log: Logger,
  signal: AbortSignal,
): Promise<number> {
  // Every client that reaches the proxy calls with this workload's identity; the proxy does not authenticate clients.
  if (!LOOPBACK.test(listen.host) && flags.allowRemote !== true) {
    throw new Error(
      `\`${listen.host}\` may be reached from other machines, which would call as this workload; add \`--allow-remote\` if that is meant`,
    )
  }
  const member = new MeshMember({ bootstrap, log })
  const { knownRoutes, outbound, requests } = member
  const { mesh } = bootstrap.names
  // The owner of a connection from another machine cannot be looked up here.
  const isOpen = flags.allowOtherUsers === true || !LOOPBACK.test(listen.host)
  const proxy = new OutboundProxy({
    ...{ knownRoutes, outbound, requests, mesh, allowExternal: flags.allowExternal === true, log },
    ...(!isOpen && { mayCall: isOwnUser }),
  })
  const { address: host, port: opened } = await proxy.listen(listen)
  process.stderr.write(`xclient: listening on ${host.includes(":") ? `[${host}]` : host}:${opened}\n`)
  void member.start()
  await new Promise<void>(resolve => {
    signal.addEventListener("abort", () => resolve(), { once: true })
  })
  await proxy.close()
  member.close()
  return 0
}

function bootstrapOf({ bootstrap }: Flags): Bootstrap {
  const file = bootstrap ?? process.env.MERLON_BOOTSTRAP
  if (file === undefined || file === "") {
    throw new Error("tell me who I am: `--bootstrap FILE`, or `MERLON_BOOTSTRAP`; `merlonctl workload add` writes one")
  }
  return readBootstrap(file, process.env)
}

function path(text: string): string {
  if (!/^\/[\x21-\x22\x24-\x7e]*$/.test(text))
    throw new InvalidArgumentError("must begin with / and have no spaces, as /status/200?x=1")
  return text
}

function method(text: string): string {
  if (!TOKEN.test(text) || text.toUpperCase() === "CONNECT") throw new InvalidArgumentError("must be a method, as POST")
  return text.toUpperCase()
}

function header(text: string, headers: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const [, name, value] = /^([^:=\s]+)\s*[:=]\s*(.*)$/.exec(text) ?? []
  if (name === undefined || value === undefined || !TOKEN.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(value)) {
    throw new InvalidArgumentError('must have the form "NAME: VALUE"')
  }
  const key = name.toLowerCase()
  const before = headers.get(key)
  return new Map(headers).set(key, before === undefined ? value : `${before}, ${value}`)
}

function expectation(text: string): Shares {
  try {
    return parseExpectation(text)
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error))
  }
}

function pauseBetween(text: string): number {
  return text === "0" ? 0 : timeLimit(text)
}

// Longer than Node's timers allow, a timeout would fire at once.
function timeLimit(text: string): number {
  const milliseconds = duration(text)
  if (milliseconds > DAY_MS) throw new InvalidArgumentError("must be at most 24h")
  return milliseconds
}

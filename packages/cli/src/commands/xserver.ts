// SPDX-License-Identifier: Apache-2.0
// `merlond xserver`: the inbound proxy of one workload. `merlond proxy` runs the same and also handles the workload's
// outbound calls.

import type { Subscription } from "@merlon/xds/client"
import { type Bootstrap, readBootstrap } from "@merlon/xds/member"
import { messageOf } from "@merlon/xds/runtime"
import {
  type AccessLogFormat,
  type ConfigurationSource,
  DEFAULT_LIMITS,
  FileSource,
  type GatewayTrust,
  keepMemorySmall,
  type Limits,
  LOG_LEVELS,
  LocalDataPath,
  MeshSource,
  type ReportedCalls,
  runWorker,
  type TraceOptions,
  tracesUrl,
  WorkerPool,
  Xserver,
  type XserverOptions,
} from "@merlon/xserver"
import { awaitDrainRequest } from "@merlon/xserver/drain"
import { Command, InvalidArgumentError, Option } from "commander"
import { type Logger, pino } from "pino"
import { type Address, address, loopback, whole } from "../arguments.js"
import { logDestination } from "../log-destination.js"
import { VERSION } from "../version.js"

// With several processes, each starts from the same file as the first.
export { runWorker }

/** The outbound direction of a workload, on the same stream and under the same identity. */
export interface Calls extends ReportedCalls {
  readonly subscriptions: readonly Subscription[]
  readonly metrics: NonNullable<XserverOptions["otherMetrics"]>
  /** Resolves when it accepts calls. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** `source` may be called once the calls are started. */
export type MakeCalls = (bootstrap: Bootstrap, logger: Logger, source: () => MeshSource) => Calls

export interface ProxyFlags {
  readonly configFile?: string
  readonly bootstrap?: string
  readonly state?: string
  readonly workers: number
  readonly admin: Address
  readonly health: Address
  readonly accessLog: AccessLogFormat
  readonly traces?: string
  readonly traceRatio: number
  readonly logLevel: string
  readonly limit: Limits
  /** Requests are authorization queries of gateways. Set by `merlond authorizer`. */
  readonly authorizer?: GatewayTrust
}

export function xserverCommand(): Command {
  return withProxyOptions(new Command("xserver"))
    .description("Run the inbound proxy of a workload and enforce its policies")
    .action((flags: ProxyFlags, command: Command) => runProxy(flags, command))
}

export function withProxyOptions(command: Command): Command {
  const option = (flags: string, description: string, env: string): Option => new Option(flags, description).env(env)
  return command
    .addOption(
      option(
        "--config-file <file>",
        "run alone, from YAML with workload, ports, policies, certificates",
        "MERLON_XSERVER_CONFIG_FILE",
      ).conflicts("bootstrap"),
    )
    .addOption(
      option("--bootstrap <file>", "join a mesh: YAML with control plane, workload, token", "MERLON_XSERVER_BOOTSTRAP"),
    )
    .addOption(
      option("--state <folder>", "keep the last good configuration here and start from it", "MERLON_XSERVER_STATE"),
    )
    .addOption(
      option("--workers <n>", "processes that share the work", "MERLON_XSERVER_WORKERS")
        .argParser(whole(1, 256))
        .default(1),
    )
    .addOption(
      option("--admin <host:port>", "config dump, decisions, log level", "MERLON_XSERVER_ADMIN")
        .argParser(loopback)
        .default({ host: "127.0.0.1", port: 15_000 }, "127.0.0.1:15000"),
    )
    .addOption(
      option("--health <host:port>", "readiness, liveness, metrics, probes", "MERLON_XSERVER_HEALTH")
        .argParser(address)
        .default({ host: "::", port: 15_021 }, "every address, port 15021"),
    )
    .addOption(
      option("--access-log <format>", "one line per request on standard output", "MERLON_XSERVER_ACCESS_LOG")
        .choices(["json", "text", "off"])
        .default("json"),
    )
    .addOption(
      option("--traces <url>", "collector of OpenTelemetry spans, OTLP over HTTP", "MERLON_XSERVER_TRACES").argParser(
        collector,
      ),
    )
    .addOption(
      option(
        "--trace-ratio <share>",
        "fraction of new traces to record, 0 to 1; callers decide for theirs",
        "MERLON_XSERVER_TRACE_RATIO",
      )
        .argParser(share)
        .default(0.01),
    )
    .addOption(
      option("--log-level <level>", "level of the log on standard error", "MERLON_XSERVER_LOG_LEVEL")
        .choices([...LOG_LEVELS])
        .default("info"),
    )
    .addOption(
      new Option("--limit <name=value>", "change a limit (repeatable)")
        .argParser(limit)
        .default(DEFAULT_LIMITS, "see below"),
    )
    .addHelpText(
      "after",
      () =>
        `\nLimits:\n${Object.entries(DEFAULT_LIMITS)
          .map(([name, value]) => `  ${name.padEnd(22)} ${value}`)
          .join("\n")}`,
    )
}

export async function runProxy(flags: ProxyFlags, command: Command, makeCalls?: MakeCalls): Promise<void> {
  const reason = await keepMemorySmall()
  const logger = pino({ level: flags.logLevel, base: null }, logDestination())
  if (reason !== undefined) logger.warn({ reason }, "memory taken under load may be kept: cannot call the C library")
  const entry = { exec: process.argv[1] ?? "", args: [] }
  const { source, probe, admin, health, state, calls } = sourceOf(flags, logger, makeCalls)
  // Flags override the bootstrap, which overrides the defaults.
  const isTyped = (name: string): boolean => command.getOptionValueSource(name) !== "default"
  const xserver = new Xserver({
    source,
    probe,
    admin: isTyped("admin") || admin === undefined ? flags.admin : loopback(admin),
    health: isTyped("health") || health === undefined ? flags.health : address(health),
    logger,
    ...(calls && { otherMetrics: calls.metrics }),
    makeDataPath(mesh) {
      const { limit: limits, accessLog, authorizer } = flags
      const options = { mesh, limits, accessLog, traces: tracesOf(flags), authorizer }
      return flags.workers === 1 ? new LocalDataPath(options) : new WorkerPool(options, flags.workers, entry)
    },
  })
  process.on("SIGHUP", () => xserver.reload())
  const stop = (signal: string): void => {
    logger.info({ signal }, "draining")
    Promise.all([xserver.stop(), calls?.stop()]).then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.once("SIGTERM", () => stop("SIGTERM"))
  process.once("SIGINT", () => stop("SIGINT"))
  if (state !== undefined) {
    try {
      awaitDrainRequest(state, () => void xserver.startDraining())
    } catch (error) {
      // A rollout may then lose requests, but that is no reason to serve none.
      logger.warn({ error: messageOf(error) }, "cannot be asked to drain")
    }
  }
  // The proxy is ready when it enforces policies. The workload may call from then on.
  await calls?.start()
  await xserver.start()
}

/** Undefined without a collector. */
export function tracesOf({ traces: url, traceRatio: ratio }: ProxyFlags): TraceOptions | undefined {
  return url === undefined ? undefined : { url, ratio, version: VERSION }
}

interface Sources {
  readonly source: ConfigurationSource
  readonly probe?: XserverOptions["probe"]
  readonly admin?: string | undefined
  readonly health?: string | undefined
  readonly state?: string | undefined
  readonly calls?: Calls | undefined
}

function sourceOf(flags: ProxyFlags, logger: Logger, makeCalls?: MakeCalls): Sources {
  const { configFile, bootstrap, state, authorizer } = flags
  if (configFile !== undefined && makeCalls !== undefined)
    throw new Error("calls need a control plane: give `--bootstrap FILE`")
  if (configFile !== undefined) return { source: new FileSource({ path: configFile, state, logger }), state }
  if (bootstrap === undefined) {
    throw new Error("tell me what to enforce: `--bootstrap FILE` to join a mesh, or `--config-file FILE` to run alone")
  }
  const file = readBootstrap(bootstrap, process.env)
  const read = { ...file, state: state ?? file.state }
  const calls = makeCalls?.(read, logger, () => source)
  const source = new MeshSource({
    bootstrap: read,
    logger,
    version: VERSION,
    // Injection sets it; in a Pod connections to the application are captured wherever it listens. Behind an authorizer there is none.
    reportsExposure: process.env.POD_NAME === undefined && authorizer === undefined,
    isAuthorizer: authorizer !== undefined,
    subscriptions: calls?.subscriptions ?? [],
    calls,
  })
  return {
    source,
    calls,
    probe: read.probe && { question: read.probe, host: read.application },
    admin: read.admin,
    health: read.health,
    state: read.state,
  }
}

function collector(text: string): string {
  try {
    return tracesUrl(text)
  } catch (error) {
    throw new InvalidArgumentError(`${messageOf(error)}; name a collector as http://127.0.0.1:4318`)
  }
}

function share(text: string): number {
  const number = Number(text)
  if (text.trim() === "" || !(number >= 0 && number <= 1))
    throw new InvalidArgumentError("must be from 0 to 1, as 0.05")
  return number
}

function limit(text: string, limits: Limits): Limits {
  const [name = "", value = ""] = text.split("=")
  const number = Number(value)
  if (!Object.hasOwn(DEFAULT_LIMITS, name)) {
    throw new InvalidArgumentError(`there is no limit \`${name}\`; they are ${Object.keys(DEFAULT_LIMITS).join(", ")}`)
  }
  if (value === "" || !Number.isInteger(number) || number < 0)
    throw new InvalidArgumentError("the value must be a whole number")
  return { ...limits, [name]: number }
}
